#!/bin/busybox sh
# The only program of a guest of `hypertwin lab vm`: closed loops of CPU bursts and think time, and what the guest itself
# sees of them. Shell built-ins only: nothing is forked while a load runs, which would cost as much as the load.
#
# Commands, one per line over the serial console:
#   go SESSIONS STEPS   start sessions, whose bursts have STEPS loop passes on average
#   halt                stop them; answered with HALTED
#   off                 power off
# Reports, times in microseconds by the guest's own clock:
#   READY                                    booted
#   S session time done response             each second: transactions done since `go`, sum of their response times
#   G time user nice system idle iowait irq softirq steal queue samples load
#                                            each second: /proc/stat (ticks), sum and number of samples of running or
#                                            ready processes (this one excluded), /proc/loadavg of a minute
# `guest` is a word of the kernel's command line, which the kernel hands over as a variable.

# built-in `read -t` on a pipe in which nothing is ever written is a sleep without a process
export PATH=/bin
/bin/busybox mount -t proc none /proc
/bin/busybox mknod /dev/null c 1 3 # what the shell gives its background jobs to read
/bin/busybox stty -echo
/bin/busybox mkfifo /never
exec 9<>/never

now() { # microseconds, in $now
  now=$EPOCHREALTIME
  now=${now%.*}${now#*.}
}

session() { # each row of the table: think time in seconds, burst in thousandths of the mean
  done=0 response=0
  now
  end=$now told=$now
  while :; do
    while read -r think microseconds share; do
      read -r -t "$think" nothing <&9
      left=$((share * $2 / 1000))
      while [ $left -gt 0 ]; do left=$((left - 1)); done
      now
      response=$((response + now - end - microseconds)) done=$((done + 1)) end=$now
      if [ $((now - told)) -ge 1000000 ]; then
        told=$now
        echo "S $1 $now $done $response"
      fi
    done <"/tables/$guest-$1"
  done
}

monitor() {
  queue=0 samples=0 told=0
  while :; do
    read -r -t 0.2 nothing <&9
    read -r load five fifteen running rest </proc/loadavg
    queue=$((queue + ${running%/*} - 1)) samples=$((samples + 1))
    now
    if [ $((now - told)) -ge 1000000 ]; then
      told=$now
      read -r name user nice system idle iowait irq softirq steal rest </proc/stat
      now
      echo "G $now $user $nice $system $idle $iowait $irq $softirq $steal $queue $samples $load"
    fi
  done
}

jobs=
echo READY
while read -r word sessions steps; do
  case $word in
  go)
    each=1
    while [ "$each" -le "$sessions" ]; do
      session "$each" "$steps" &
      jobs="$jobs $!" each=$((each + 1))
    done
    monitor &
    jobs="$jobs $!"
    ;;
  halt)
    kill $jobs
    wait $jobs
    jobs=
    echo HALTED
    ;;
  off) /bin/busybox poweroff -f ;;
  esac
done
