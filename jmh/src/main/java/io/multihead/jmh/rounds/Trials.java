package io.multihead.jmh.rounds;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.BenchmarkListEntry;
import org.openjdk.jmh.runner.format.OutputFormat;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;
import org.openjdk.jmh.util.Optional;

/** The trials that arguments of JMH select. JMH's parser and list of benchmarks are used. */
final class Trials {
    /** The seconds for the start of the JVM of JMH and of its fork, and for the set-up of a benchmark. */
    private static final double START = 3;

    /** Options of JMH without a value. */
    private static final Set<String> FLAGS = Set.of("-h", "-l", "-lp", "-lprof", "-lrf");

    private Trials() {}

    /**
     * Returns the trials of an invocation of JMH in its order. {@code rounds} is the number of rounds for arguments
     * without {@code -f}.
     */
    static List<Trial> of(int rounds, String... arguments) throws CommandLineOptionException {
        CommandLineOptions options = new CommandLineOptions(arguments);
        OutputFormat silent = OutputFormatFactory.createFormatInstance(System.err, VerboseMode.SILENT);
        Map<String, BenchmarkListEntry> methods = new LinkedHashMap<>();
        for (BenchmarkListEntry entry :
                BenchmarkList.defaultList().find(silent, options.getIncludes(), options.getExcludes())) {
            methods.putIfAbsent(entry.getUsername(), entry);
        }
        List<Trial> trials = new ArrayList<>();
        methods.forEach((method, entry) -> {
            Map<String, Collection<String>> values = new TreeMap<>();
            entry.getParams()
                    .orElse(Map.of())
                    .forEach((name, declared) ->
                            values.put(name, options.getParameter(name).orElse(Arrays.asList(declared))));
            for (SortedMap<String, String> combination : combinations(values)) {
                trials.add(new Trial(
                        method,
                        combination,
                        others(arguments),
                        options.getForkCount().orElse(rounds),
                        seconds(options, entry)));
            }
        });
        return trials;
    }

    /** Returns the arguments that neither select trials nor set the number of forks. */
    private static List<String> others(String... arguments) {
        List<String> others = new ArrayList<>();
        for (int i = 0; i < arguments.length; i++) {
            if (FLAGS.contains(arguments[i])) {
                others.add(arguments[i]);
            } else if (arguments[i].startsWith("-") && i + 1 < arguments.length) {
                String value = arguments[++i];
                if (!Set.of("-p", "-f", "-e", "-rf", "-rff", "-o").contains(arguments[i - 1])) {
                    others.addAll(List.of(arguments[i - 1], value));
                }
            }
        }
        return others;
    }

    private static List<SortedMap<String, String>> combinations(Map<String, Collection<String>> values) {
        List<SortedMap<String, String>> all = new ArrayList<>(List.of(new TreeMap<>()));
        values.forEach((name, choices) -> {
            List<SortedMap<String, String>> longer = new ArrayList<>();
            for (SortedMap<String, String> shorter : all) {
                for (String choice : choices) {
                    SortedMap<String, String> one = new TreeMap<>(shorter);
                    one.put(name, choice);
                    longer.add(one);
                }
            }
            all.clear();
            all.addAll(longer);
        });
        return all;
    }

    private static double seconds(CommandLineOptions options, BenchmarkListEntry entry) {
        boolean single = options.getBenchModes().contains(Mode.SingleShotTime);
        double warmup = iterations(options.getWarmupIterations(), entry.getWarmupIterations())
                * time(options.getWarmupTime(), entry.getWarmupTime());
        double measurement = iterations(options.getMeasurementIterations(), entry.getMeasurementIterations())
                * time(options.getMeasurementTime(), entry.getMeasurementTime());
        return START + (single ? 0 : warmup + measurement);
    }

    private static int iterations(Optional<Integer> given, Optional<Integer> declared) {
        return given.orElse(declared.orElse(5));
    }

    private static double time(Optional<TimeValue> given, Optional<TimeValue> declared) {
        return given.orElse(declared.orElse(TimeValue.seconds(10))).convertTo(TimeUnit.MILLISECONDS) * 1e-3;
    }
}
