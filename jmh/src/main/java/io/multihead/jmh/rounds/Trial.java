package io.multihead.jmh.rounds;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * The measurement of one fork of JMH: one benchmark method, named with its class and package, one value of each
 * parameter, other arguments of JMH, which do not select benchmarks, parameters or forks, the rounds, and the expected
 * time of a fork.
 */
record Trial(String method, SortedMap<String, String> parameters, List<String> options, int rounds, double seconds) {
    private static final String IMPL = "impl";

    /**
     * Trials that alternate, since they differ only in their impl. Without a parameter impl, the method is the impl.
     */
    record Row(String name, Map<String, String> parameters, List<String> options) {}

    Row row() {
        Map<String, String> others = new TreeMap<>(parameters);
        boolean hasImpl = others.remove(IMPL) != null;
        return new Row(hasImpl ? method : type(), others, options);
    }

    String type() {
        return method.substring(0, method.lastIndexOf('.'));
    }

    /** Returns the arguments of JMH for one fork that writes its result to a file. */
    List<String> arguments(String file) {
        List<String> arguments = new ArrayList<>();
        // without the package, and without the name of a single method, which may differ in the benchmarks of an
        // earlier build
        String simple = method.substring(type().lastIndexOf('.') + 1);
        arguments.add(
                "\\." + Pattern.quote(simple.replaceFirst("\\.time$", ".")) + (simple.endsWith(".time") ? "" : "$"));
        parameters.forEach((name, value) -> arguments.addAll(List.of("-p", name + "=" + value)));
        arguments.addAll(options);
        arguments.addAll(List.of("-f", "1", "-rf", "json", "-rff", file));
        return arguments;
    }

    String label() {
        String[] path = method.split("\\.");
        StringBuilder label = new StringBuilder(path[path.length - 2] + "." + path[path.length - 1]);
        parameters.forEach(
                (name, value) -> label.append(' ').append(name).append('=').append(value));
        return label.toString();
    }
}
