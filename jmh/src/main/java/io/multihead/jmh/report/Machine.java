package io.multihead.jmh.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.incubator.vector.FloatVector;

/**
 * The properties of the machine and JVM on which a figure depends. The page is written on the machine of the
 * measurement.
 */
public final class Machine {
    private Machine() {}

    /**
     * Returns the number of floats of a vector in a JVM with these flags. Its vectors may be narrower than the
     * processor's.
     */
    static int lanes(List<String> flags) {
        int lanes = FloatVector.SPECIES_PREFERRED.length();
        for (String flag : flags) {
            String value = flag.substring(flag.indexOf('=') + 1);
            if (flag.startsWith("-XX:UseAVX=")) {
                lanes = Math.min(lanes, value.equals("3") ? 16 : value.equals("2") ? 8 : 4);
            } else if (flag.startsWith("-XX:MaxVectorSize=")) {
                lanes = Math.min(lanes, Integer.parseInt(value) / Float.BYTES);
            }
        }
        return lanes;
    }

    static Map<String, String> facts(Study study) {
        Collection<Result> all = study.results().all();
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("date", grouped(all, result -> result.run().date()));
        facts.put("processor", study.processor());
        facts.put(
                "f32 lanes", grouped(all, result -> String.valueOf(result.run().lanes())));
        facts.put("JDK", grouped(all, result -> result.run().jdk()));
        facts.put(
                "JVM flags",
                grouped(all, result -> "`" + String.join(" ", result.run().flags()) + "`"));
        facts.put("measured", grouped(all, result -> result.run().iterations()));
        facts.putAll(study.results().limits.facts());
        return facts;
    }

    /** Returns the kind of this machine's processor, and the width of vectors. */
    public static String description() throws IOException {
        Study here = here();
        return here.name() + " (" + here.processor() + "), " + lanes(List.of()) + " f32 lanes";
    }

    static Study here() throws IOException {
        Map<String, String> cpu = new LinkedHashMap<>();
        Path cpus = Path.of("/proc/cpuinfo");
        if (Files.exists(cpus)) {
            try (Stream<String> lines = Files.lines(cpus)) {
                lines.map(line -> line.split("\\s*:\\s*", 2))
                        .filter(line -> line.length == 2)
                        .forEach(line -> cpu.putIfAbsent(line[0], line[1]));
            }
        }
        String model = cpu.getOrDefault("model name", System.getProperty("os.arch"));
        String name = Processors.name(
                cpu.getOrDefault("vendor_id", ""),
                number(cpu.getOrDefault("cpu family", "")),
                number(cpu.getOrDefault("model", "")),
                model);
        int processors = Runtime.getRuntime().availableProcessors();
        return new Study(
                name, model + ", " + Result.count(processors, "processor"), new Results(List.of(), new Limits()));
    }

    private static int number(String text) {
        return text.matches("\\d+") ? Integer.parseInt(text) : -1;
    }

    /** Returns the setting of most results, and then the settings of other results with their benchmarks. */
    private static String grouped(Collection<Result> all, Function<Result, String> value) {
        Map<String, List<Result>> groups =
                all.stream().collect(Collectors.groupingBy(value, LinkedHashMap::new, Collectors.toList()));
        String most = groups.keySet().stream()
                .max(Comparator.comparingInt(each -> groups.get(each).size()))
                .orElse("");
        List<String> parts = new ArrayList<>(List.of(most));
        groups.forEach((each, results) -> {
            if (!each.equals(most)) {
                Set<String> names = new TreeSet<>();
                results.forEach(result -> names.add(result.benchmark()));
                parts.add(each + " (" + String.join(", ", names) + ")");
            }
        });
        return String.join("; ", parts);
    }
}
