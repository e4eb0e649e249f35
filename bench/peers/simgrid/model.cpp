// The benchmark models in SimGrid's s4u interface: `mm1 --customers N --seed S`,
// `network --stations K --customers N --seconds T --seed S` and `vms --hosts H --vms N`. Prints one JSON line.
//
// A station is an actor that waits on a semaphore for customers, sleeps for the service time and passes the customer on.
// SimGrid's own processor-sharing executions could model the service as well, but are an order of magnitude slower.
//
// `vms` is SimGrid's model of virtual machines: hosts of 16 cores, N VMs of two vCPUs on each, 24 steps of a second. An
// actor per vCPU executes what its VM's step asks for and waits for the next step; what is late goes on. The demand is
// that of `../../vms.yaml` and `../../twin.py`.
#include <simgrid/s4u.hpp>
#include <simgrid/s4u/VirtualMachine.hpp>
#include <simgrid/version.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

constexpr double ARRIVAL_RATE = 0.8;
constexpr double CORE_FLOPS   = 1e9;
constexpr int CORES           = 16;
constexpr int VCPUS           = 2;
constexpr int STEPS           = 24;
constexpr double BUSIEST_VCPU = 0.8; // demand of a vCPU at a factor of 1, in cores
constexpr double PI           = 3.141592653589793;

constexpr const char* STATIONS_DO = "an actor per station, semaphore per queue, sleep as service, arrival time per "
                                    "customer, mean response";
constexpr const char* VMS_DO      = "CPU that each VM gets, by max-min shares, and when each step's work is done; "
                                    "no ready, co-stop, NUMA or latency";

struct Station {
  sg4::SemaphorePtr waiting = sg4::Semaphore::create(0);
  std::deque<double> arrived;
  std::mt19937_64 random;
  std::uint64_t completions = 0;
  double response_sum_s = 0;

  void arrive()
  {
    arrived.push_back(sg4::Engine::get_clock());
    waiting->release();
  }

  void serve_one()
  {
    waiting->acquire();
    sg4::this_actor::sleep_for(std::exponential_distribution<double>(1.0)(random));
    response_sum_s += sg4::Engine::get_clock() - arrived.front();
    arrived.pop_front();
    completions++;
  }
};

double peak_rss_mib()
{
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0)
      return std::atof(line.c_str() + 6) / 1024;
  return 0;
}

struct Took {
  double seconds;
  double cpu_s;
};

void print_line(const char* name, std::uint64_t events, Took took, const char* what, double value, double exact,
                const char* does)
{
  std::printf("{\"case\": \"%s\", \"tool\": \"simgrid\", \"version\": \"%d.%d\", \"events\": %llu, "
              "\"seconds\": %.6f, \"cpu_s\": %.6f, \"events_per_s\": %.1f, \"peak_rss_mib\": %.1f, \"check\": {\"what\": \"%s\", \"value\": %.9g, "
              "\"exact\": %.9g}, \"does\": \"%s\"}\n",
              name, SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR, static_cast<unsigned long long>(events),
              took.seconds, took.cpu_s, static_cast<double>(events) / took.seconds, peak_rss_mib(), what, value, exact,
              does);
}

double option(int argc, char** argv, const char* name, double fallback)
{
  for (int at = 2; at + 1 < argc; at++)
    if (std::strcmp(argv[at], name) == 0)
      return std::atof(argv[at + 1]);
  return fallback;
}

Took run_timed(sg4::Engine& engine, double until)
{
  const auto start = std::chrono::steady_clock::now();
  const auto cpu   = std::clock();
  if (until > 0)
    engine.run_until(until);
  else
    engine.run();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

void vms(sg4::Engine& engine, int host_count, int per_host)
{
  auto* zone = sg4::create_full_zone("zone");
  std::vector<sg4::Host*> hosts;
  for (int host = 0; host < host_count; host++)
    hosts.push_back(zone->create_host("host-" + std::to_string(host), CORE_FLOPS)->set_core_count(CORES));
  zone->seal();
  const int total     = host_count * per_host;
  std::uint64_t steps = 0;
  double core_seconds = 0;
  for (int number = 0; number < total; number++) {
    auto* vm = hosts[number / per_host]->create_vm("vm-" + std::to_string(number), VCPUS);
    vm->start();
    const double late_h = number % per_host % 8 + static_cast<double>(number) / total;
    for (int vcpu = 0; vcpu < VCPUS; vcpu++)
      sg4::Actor::create("vcpu", vm, [late_h, &steps, &core_seconds] {
        for (int step = 0; step < STEPS; step++) {
          const double asked = BUSIEST_VCPU * (0.5 - 0.45 * std::cos(2 * PI * (step + late_h) / STEPS));
          sg4::this_actor::execute(asked * CORE_FLOPS);
          steps++;
          core_seconds += asked;
          if (sg4::Engine::get_clock() < step + 1)
            sg4::this_actor::sleep_until(step + 1);
        }
      });
  }
  const Took took = run_timed(engine, 0);
  const double end_s = std::max<double>(STEPS, sg4::Engine::get_clock());
  print_line("vms", steps, took, "busy cores per host", core_seconds / end_s / host_count,
             BUSIEST_VCPU / 2 * VCPUS * per_host, VMS_DO);
}

} // namespace

int main(int argc, char** argv)
{
  int engine_argc          = 3;
  char name[]              = "simgrid-bench";
  char small_stacks[]      = "--cfg=contexts/stack-size:32";
  char quiet[]             = "--log=root.thres:error";
  char* engine_arguments[] = {name, small_stacks, quiet, nullptr};
  sg4::Engine engine(&engine_argc, engine_arguments);
  const auto seed           = static_cast<std::uint64_t>(option(argc, argv, "--seed", 1));
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "vms") {
    vms(engine, static_cast<int>(option(argc, argv, "--hosts", 100)), static_cast<int>(option(argc, argv, "--vms", 8)));
    std::fflush(stdout);
    std::_Exit(0); // tearing VMs down is not part of the measurement
  }
  auto* zone = sg4::create_full_zone("zone");
  auto* host = zone->create_host("host", CORE_FLOPS);
  zone->seal();
  if (command == "mm1") {
    const auto customers = static_cast<std::uint64_t>(option(argc, argv, "--customers", 1e6));
    Station station;
    station.random.seed(2 * seed + 1);
    sg4::Actor::create("source", host, [&station, customers, seed] {
      std::mt19937_64 random(2 * seed);
      std::exponential_distribution<double> gap(ARRIVAL_RATE);
      for (std::uint64_t customer = 0; customer < customers; customer++) {
        sg4::this_actor::sleep_for(gap(random));
        station.arrive();
      }
    });
    sg4::Actor::create("station", host, [&station, customers] {
      while (station.completions < customers)
        station.serve_one();
    });
    const Took took = run_timed(engine, 0);
    print_line("mm1", 2 * station.completions, took, "mean_response_s",
               station.response_sum_s / static_cast<double>(station.completions), 1 / (1 - ARRIVAL_RATE), STATIONS_DO);
  } else if (command == "network") {
    const auto count     = static_cast<std::size_t>(option(argc, argv, "--stations", 100));
    const auto customers = static_cast<std::size_t>(option(argc, argv, "--customers", 10000));
    const double horizon = option(argc, argv, "--seconds", 1000);
    std::vector<Station> stations(count);
    for (std::size_t number = 0; number < count; number++)
      stations[number].random.seed(seed * 1000003 + number);
    for (std::size_t customer = 0; customer < customers; customer++)
      stations[customer % count].arrive();
    for (auto& station : stations)
      sg4::Actor::create("station", host, [&stations, &station] {
        while (true) {
          station.serve_one();
          stations[station.random() % stations.size()].arrive();
        }
      });
    const Took took = run_timed(engine, horizon);
    std::uint64_t completions = 0;
    for (const auto& station : stations)
      completions += station.completions;
    print_line("network", completions, took, "throughput_per_s", static_cast<double>(completions) / horizon,
               static_cast<double>(customers * count) / static_cast<double>(customers + count - 1), STATIONS_DO);
    std::fflush(stdout);
    std::_Exit(0); // the stations never end; tearing 100 suspended actors down is not part of the measurement
  } else {
    std::fprintf(stderr, "usage: simgrid-bench mm1|network|vms [--customers N] [--stations K] [--seconds T] [--hosts H] "
                         "[--vms N] [--seed S]\n");
    return 2;
  }
  return 0;
}
