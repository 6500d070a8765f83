package io.multihead.jmh;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;

/** Prints the tables of the performance study from JMH's JSON. */
public final class Report {
    private Report() {}

    /**
     * Prints the tables.
     *
     * @param arguments the JSON files, of which the newest counts for a benchmark that several have
     */
    public static void main(String[] arguments) throws IOException {
        Results results = Results.read(Arrays.stream(arguments).map(Path::of).toList());
        Tables tables = new Tables(results.limits);
        Machine.facts(results).forEach((name, value) -> System.out.println(name + ": " + value));
        results.benchmarks.forEach((name, cases) ->
                System.out.printf("%n## %s%n%n%s%n%s", name, tables.results(cases), tables.secondThread(cases)));
    }
}
