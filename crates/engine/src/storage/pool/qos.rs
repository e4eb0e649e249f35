//! Operations that wait for the threads of a queue: in turn, or in the order that a pool of Ceph serves its classes in.

use crate::ids::IoId;
use crate::storage::queue::{Queue, Waits};
use crate::storage::request::Requests;
use hypertwin_kernel::Nanos;
use hypertwin_models::storage::product::qos::{Choice, Class, Head, Order};

/// What waits for the threads of one queue.
pub enum Waiting {
    /// The first that came is the first that goes.
    InTurn(Queue),
    ByClass(Box<Classes>),
}

/// A queue for each class, and whose turn it is.
pub struct Classes {
    order: Order,
    queues: [Queue; 3],
    /// Time of the next check of requests that limits held back.
    looked_at: Nanos,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Operation(IoId),
    /// It waits; the queue needs a check at this time, and none before.
    Later(Nanos),
    /// It waits.
    Nothing,
}

impl Next {
    /// Time of the next check, if one is needed.
    pub fn later(self) -> Option<Nanos> {
        match self {
            Self::Later(time) => Some(time),
            Self::Operation(_) | Self::Nothing => None,
        }
    }
}

impl Waiting {
    /// Nothing yet; it is served in this order, or as it comes.
    pub fn new(order: Option<Order>) -> Self {
        let Some(order) = order else {
            return Self::InTurn(Queue::new());
        };
        Self::ByClass(Box::new(Classes {
            order,
            queues: [Queue::new(), Queue::new(), Queue::new()],
            looked_at: 0,
        }))
    }

    /// Whether an operation that finds an idle thread goes to it, without a look at who else there is.
    #[inline]
    pub fn passes(&mut self) -> bool {
        match self {
            Self::InTurn(queue) => {
                queue.pass();
                true
            }
            Self::ByClass(_) => false,
        }
    }

    #[inline]
    pub fn push(&mut self, now: Nanos, requests: &mut Requests, id: IoId, class: Class) {
        match self {
            Self::InTurn(queue) => queue.push(now, requests, id),
            Self::ByClass(classes) => {
                let queue = &mut classes.queues[class as usize];
                if queue.is_empty() {
                    classes.order.wake(class);
                }
                queue.push(now, requests, id);
            }
        }
    }

    /// Takes out what goes next.
    #[inline]
    pub fn pop(&mut self, now: Nanos, requests: &Requests) -> Next {
        match self {
            Self::InTurn(queue) => queue.pop(now, requests).map_or(Next::Nothing, Next::Operation),
            Self::ByClass(classes) => classes.pop(now, requests),
        }
    }

    /// Takes all operations out: they fail.
    pub fn drain(&mut self, now: Nanos, requests: &Requests, dropped: &mut Vec<IoId>) {
        self.each(|queue| queue.drain(now, requests, dropped));
    }

    /// Its mean length, and its waits.
    pub fn measured(&self, now: Nanos) -> (f64, Waits) {
        let mut sum = (0.0, Waits::default());
        for queue in self.queues() {
            sum.0 += queue.length.mean(now);
            sum.1.passed += queue.waits.passed;
            sum.1.waited += queue.waits.waited;
            sum.1.wait_ns += queue.waits.wait_ns;
        }
        sum
    }

    /// Measures from now.
    pub fn reset(&mut self, now: Nanos) {
        self.each(|queue| queue.reset(now));
    }

    fn queues(&self) -> &[Queue] {
        match self {
            Self::InTurn(queue) => std::slice::from_ref(queue),
            Self::ByClass(classes) => &classes.queues,
        }
    }

    fn each(&mut self, act: impl FnMut(&mut Queue)) {
        match self {
            Self::InTurn(queue) => std::slice::from_mut(queue).iter_mut().for_each(act),
            Self::ByClass(classes) => classes.queues.iter_mut().for_each(act),
        }
    }
}

impl Classes {
    fn pop(&mut self, now: Nanos, requests: &Requests) -> Next {
        let heads = std::array::from_fn(|class| {
            let io = &requests[self.queues[class].first()?];
            Some(Head {
                since_ns: io.since,
                bytes: io.bytes,
            })
        });
        match self.order.choose(heads, now) {
            Choice::Serve(class) => {
                let id = self.queues[class as usize].pop(now, requests);
                Next::Operation(id.expect("what is chosen waits"))
            }
            Choice::Wait(until) if (now + 1..=until).contains(&self.looked_at) => Next::Nothing,
            Choice::Wait(until) => {
                self.looked_at = until;
                Next::Later(until)
            }
            Choice::Nothing => Next::Nothing,
        }
    }
}
