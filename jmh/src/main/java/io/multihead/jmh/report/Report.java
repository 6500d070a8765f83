package io.multihead.jmh.report;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Makes the page of the performance study from JMH's JSON, and prints its tables. */
public final class Report {
    private Report() {}

    /**
     * Prints the tables, then writes the page.
     *
     * @param arguments the page, which is made if there is none, then the JSON files, of which the newest counts for a
     *     benchmark that several have
     */
    public static void main(String[] arguments) throws IOException {
        System.setProperty("java.awt.headless", "true");
        List<Path> paths = Arrays.stream(arguments).map(Path::of).toList();
        Results results = Results.read(paths.subList(1, paths.size()), "this");
        Tables tables = new Tables(results.limits);
        Page page = new Page(paths.getFirst());
        page.head(Machine.facts(results));
        results.benchmarks.forEach(
                (name, cases) -> page.tables(name, List.of(tables.results(cases), tables.secondThread(cases))));
        System.out.println(page.text()); // what was measured is seen even where nothing can be drawn
        for (Map.Entry<String, Map<Case, Map<String, Result>>> benchmark : results.benchmarks.entrySet()) {
            page.pictures(benchmark.getKey(), Charts.of(results.limits, benchmark.getValue()));
        }
        page.write();
        System.err.println("written: " + paths.getFirst());
    }
}
