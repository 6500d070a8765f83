package io.multihead.jmh.report;

import io.multihead.internal.base.AtomicFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.stream.Stream;

/**
 * A Markdown page in which the study writes the text between two markers. The folder with the page's name has, for each
 * kind of processor, a JSON file, a page that is written from it together with the first page, and a folder with charts
 * and a page for each benchmark.
 */
final class Page {
    private static final String BEGIN = "<!-- study:begin -->";
    private static final String END = "<!-- study:end -->";

    private final Path file;
    private final SortedMap<String, Study> studies;

    Page(Path file) throws IOException {
        this.file = file.toAbsolutePath();
        studies = StudyFile.readAll(folder());
    }

    SortedMap<String, Study> studies() {
        return studies;
    }

    /** Adds the measurements of a processor to the results of its kind, and returns the name of its file. */
    String add(Study measured) {
        String key = Processors.key(measured.name());
        studies.merge(
                key,
                measured,
                (known, newer) -> new Study(
                        newer.name(), newer.processor(), known.results().replacedBy(newer.results())));
        return key;
    }

    /**
     * Writes all pages, and the JSON and the charts of measured processors, or the charts of all processors. Each file
     * is written atomically, and the first page is the last file. Charts that the pages of these processors do not show
     * are deleted.
     */
    void write(String... measured) throws IOException {
        Collection<String> keys = measured.length == 0 ? studies.keySet() : List.of(measured);
        Map<Path, byte[]> files = new LinkedHashMap<>();
        for (String key : keys) {
            Study study = studies.get(key);
            Path charts = folder().resolve(key);
            Sections.pictures(study)
                    .forEach(picture -> files.put(
                            charts.resolve(picture.name() + ".svg"),
                            picture.chart().svg().getBytes(StandardCharsets.UTF_8)));
            if (measured.length > 0) {
                files.put(folder().resolve(key + ".json"), StudyFile.write(study));
            }
        }
        studies.forEach((key, study) -> Sections.pages(key, study)
                .forEach((path, text) -> files.put(folder().resolve(path), text.getBytes(StandardCharsets.UTF_8))));
        files.put(file, front());
        for (Map.Entry<Path, byte[]> each : files.entrySet()) {
            Files.createDirectories(each.getKey().getParent());
            AtomicFile.write(each.getKey(), "page", out -> out.append(ByteBuffer.wrap(each.getValue())));
        }
        for (String key : keys) {
            for (Path old : images(folder().resolve(key))) {
                if (!files.containsKey(old)) {
                    Files.delete(old);
                }
            }
        }
    }

    private byte[] front() throws IOException {
        String old = Files.exists(file) ? Files.readString(file) : BEGIN + "\n" + END + "\n";
        int begin = only(old, BEGIN) + BEGIN.length();
        int end = only(old, END);
        if (begin > end) {
            throw new IOException(file + ": " + END + " stands before " + BEGIN);
        }
        String text = Sections.front(studies, folder().getFileName().toString());
        return (old.substring(0, begin) + "\n" + text + old.substring(end)).getBytes(StandardCharsets.UTF_8);
    }

    private static List<Path> images(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(name -> name.toString().endsWith(".svg")).toList();
        }
    }

    private Path folder() {
        return file.resolveSibling(file.getFileName().toString().replaceFirst("\\.md$", ""));
    }

    private int only(String text, String marker) throws IOException {
        int at = text.indexOf(marker);
        if (at < 0 || text.indexOf(marker, at + 1) >= 0) {
            throw new IOException(file + ": needs one line " + marker);
        }
        return at;
    }
}
