import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

import ch.qos.logback.classic.Level;
import org.cloudsimplus.brokers.DatacenterBrokerSimple;
import org.cloudsimplus.cloudlets.Cloudlet;
import org.cloudsimplus.cloudlets.CloudletSimple;
import org.cloudsimplus.core.CloudSimPlus;
import org.cloudsimplus.datacenters.DatacenterSimple;
import org.cloudsimplus.hosts.Host;
import org.cloudsimplus.hosts.HostSimple;
import org.cloudsimplus.resources.Pe;
import org.cloudsimplus.resources.PeSimple;
import org.cloudsimplus.schedulers.cloudlet.CloudletSchedulerSpaceShared;
import org.cloudsimplus.util.Log;
import org.cloudsimplus.vms.Vm;
import org.cloudsimplus.vms.VmSimple;

/**
 * The M/M/1 and closed-network models in CloudSim Plus: {@code mm1 --customers N --seed S} and
 * {@code network --stations K --customers N --seconds T --seed S}. Prints one JSON line.
 *
 * <p>A station is a VM of one processing element with a space-shared (first come, first served) cloudlet scheduler, a
 * customer a cloudlet. In the network a finished cloudlet is followed by a new one on a VM chosen at random.
 */
public final class Bench {
    private static final double ARRIVAL_RATE = 0.8;
    /**
     * CloudSim Plus ends a queued cloudlet about 0.01 s late, whatever the minimum time between events. With 100
     * simulated seconds for each second of the model that is one part in 10,000; with 1 s the mean response of the
     * M/M/1 queue would be 7 % too long. (With 1,000, runs of 200,000 cloudlets ended before the last of them.)
     */
    private static final double SCALE = 100;
    /** A cloudlet's integer length then counts microseconds of the model. */
    private static final double MIPS = 1e6 / SCALE;
    private static final double MIN_TIME_BETWEEN_EVENTS_S = 1e-3;
    private static final String DOES =
        "a cloudlet per customer on a VM per station, status, times and utilisation of each kept to the end";

    private final SplittableRandom random;
    private final CloudSimPlus simulation = new CloudSimPlus(MIN_TIME_BETWEEN_EVENTS_S);
    private final DatacenterBrokerSimple broker;
    private final List<Vm> stations = new ArrayList<>();
    private long completions;
    private double responseSumS;

    private Bench(final int count, final long seed) {
        random = new SplittableRandom(seed);
        final List<Host> hosts = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            final List<Pe> pes = List.of(new PeSimple(MIPS));
            hosts.add(new HostSimple(1024, 10_000, 100_000, pes));
        }
        new DatacenterSimple(simulation, hosts);
        broker = new DatacenterBrokerSimple(simulation);
        for (int number = 0; number < count; number++) {
            final Vm vm = new VmSimple(MIPS, 1);
            vm.setRam(512).setBw(1000).setSize(1000).setCloudletScheduler(new CloudletSchedulerSpaceShared());
            stations.add(vm);
        }
        broker.submitVmList(stations);
    }

    private double exponential(final double mean) {
        return -mean * Math.log1p(-random.nextDouble());
    }

    private Cloudlet customer(final Vm station) {
        final Cloudlet cloudlet = new CloudletSimple(Math.max(1, Math.round(exponential(1.0) * SCALE * MIPS)), 1);
        cloudlet.setVm(station);
        return cloudlet;
    }

    private void mm1(final int customers) {
        final List<Cloudlet> cloudlets = new ArrayList<>(customers);
        double arrivalS = SCALE;
        for (int number = 0; number < customers; number++) {
            arrivalS += exponential(SCALE / ARRIVAL_RATE);
            final double arrived = arrivalS;
            final Cloudlet cloudlet = customer(stations.get(0));
            cloudlet.setSubmissionDelay(arrived);
            cloudlet.addOnFinishListener(event -> {
                completions++;
                responseSumS += (event.getTime() - arrived) / SCALE;
            });
            cloudlets.add(cloudlet);
        }
        broker.submitCloudletList(cloudlets);
        final double seconds = timedRun();
        print("mm1", 2 * completions, seconds, "mean_response_s", responseSumS / completions, 1 / (1 - ARRIVAL_RATE));
    }

    private void network(final int customers, final double horizonS) {
        final int count = stations.size();
        final List<Cloudlet> cloudlets = new ArrayList<>(customers);
        for (int number = 0; number < customers; number++) {
            cloudlets.add(circulating(stations.get(number % count)));
        }
        broker.submitCloudletList(cloudlets);
        simulation.terminateAt(horizonS * SCALE);
        final double seconds = timedRun();
        final double exact = (double) customers * count / (customers + count - 1);
        print("network", completions, seconds, "throughput_per_s", completions / horizonS, exact);
    }

    private Cloudlet circulating(final Vm station) {
        final Cloudlet cloudlet = customer(station);
        cloudlet.addOnFinishListener(event -> {
            completions++;
            broker.submitCloudlet(circulating(stations.get(random.nextInt(stations.size()))));
        });
        return cloudlet;
    }

    private double timedRun() {
        final long start = System.nanoTime();
        simulation.start();
        return (System.nanoTime() - start) / 1e9;
    }

    private static void print(
        final String name, final long events, final double seconds, final String what, final double value,
        final double exact)
    {
        System.out.printf(
            Locale.ROOT,
            "{\"case\": \"%s\", \"tool\": \"cloudsimplus\", \"version\": \"8.5.7\", \"events\": %d, \"seconds\": %.6f, "
                + "\"events_per_s\": %.1f, \"peak_rss_mib\": %.1f, \"check\": {\"what\": \"%s\", \"value\": %.9f, "
                + "\"exact\": %.9f}, \"does\": \"%s\"}%n",
            name, events, seconds, events / seconds, peakRssMib(), what, value, exact, DOES);
    }

    private static double peakRssMib() {
        try {
            for (final String row : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (row.startsWith("VmHWM:")) {
                    return Double.parseDouble(row.replaceAll("[^0-9]", "")) / 1024;
                }
            }
        } catch (final IOException ignored) {
            // no /proc on this system: the peak is reported as 0, unknown
        }
        return 0;
    }

    private static double option(final String[] arguments, final String name, final double fallback) {
        for (int at = 1; at + 1 < arguments.length; at++) {
            if (arguments[at].equals(name)) {
                return Double.parseDouble(arguments[at + 1]);
            }
        }
        return fallback;
    }

    public static void main(final String[] arguments) {
        Log.setLevel(Level.OFF);
        final long seed = (long) option(arguments, "--seed", 1);
        final String command = arguments.length > 0 ? arguments[0] : "";
        switch (command) {
            case "mm1" -> new Bench(1, seed).mm1((int) option(arguments, "--customers", 100_000));
            case "network" -> new Bench((int) option(arguments, "--stations", 100), seed)
                .network((int) option(arguments, "--customers", 10_000), option(arguments, "--seconds", 20));
            default -> {
                System.err.println("usage: Bench mm1|network [--customers N] [--stations K] [--seconds T] [--seed S]");
                System.exit(2);
            }
        }
    }
}
