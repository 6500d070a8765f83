package io.multihead.jmh.report;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Writes the pages of the performance study from JMH's JSON, and prints the tables of the measurements. */
public final class Report {
    private Report() {}

    /**
     * Prints the tables, then writes the pages.
     *
     * @param arguments the page, which is created if it is missing, then JSON files of measurements on this machine, or
     *     folders of such files. Without files, the page is written again from the results in its folder.
     */
    public static void main(String[] arguments) throws IOException {
        List<Path> paths = Arrays.stream(arguments).map(Path::of).toList();
        Page page = new Page(paths.getFirst());
        if (paths.size() == 1) {
            page.write();
        } else {
            Study here = Machine.here();
            Study measured =
                    new Study(here.name(), here.processor(), Results.read(paths.subList(1, paths.size()), "this"));
            System.out.println(Sections.section(measured)); // printed even if charts cannot be drawn
            page.write(page.add(measured));
        }
        System.err.println("written: " + paths.getFirst());
    }
}
