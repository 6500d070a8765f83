package io.multihead.jmh.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A Markdown page of which the study writes what stands between two markers, and the charts in the folder of its name. */
final class Page {
    private static final String BEGIN = "<!-- study:begin -->";
    private static final String END = "<!-- study:end -->";
    private static final String LEGEND = """
            A row is one impl in one case. **ms**: median over forks of the median over iterations. **spread**: slowest fork
            over the median fork. **of the best peer**: the best peer's time over this one, so that above 1 is faster than every
            peer. **of the limit**: GFLOP/s beside the FMA peak, GB/s beside the read bandwidth, of as many threads; where the
            peak of two was not measured, it is twice that of one. GB/s count each weight, key and value once; a weight that
            stays in cache can be read faster than memory. Where each call was timed by itself (`Sampled`): **ms** is the median call,
            **p99** the 99th percentile over it, **B/call** what a call allocates, JMH's own notes among it.
            """;

    private final Path file;
    private final StringBuilder head = new StringBuilder();
    private final Map<String, List<String>> tables = new LinkedHashMap<>();
    private final Map<String, List<Charts.Picture>> pictures = new LinkedHashMap<>();

    Page(Path file) {
        this.file = file.toAbsolutePath();
    }

    /** The head of what the study writes: where and how it was measured, and how to read it. */
    void head(Map<String, String> facts) {
        head.append("# Figures\n\n| | |\n|---|---|\n");
        facts.forEach((name, value) -> head.append("| %s | %s |\n".formatted(name, value)));
        head.append('\n').append(LEGEND);
    }

    /** A benchmark's tables, of which empty ones are left out. */
    void tables(String benchmark, List<String> of) {
        tables.put(benchmark, of.stream().filter(table -> !table.isEmpty()).toList());
    }

    /** A benchmark's charts. */
    void pictures(String benchmark, List<Charts.Picture> of) {
        pictures.put(benchmark, of);
    }

    /** What the study writes. */
    String text() {
        StringBuilder text = new StringBuilder(head);
        tables.forEach((benchmark, own) -> {
            text.append("\n## ").append(benchmark).append('\n');
            pictures.getOrDefault(benchmark, List.of())
                    .forEach(picture -> text.append(
                            "\n![%s](%s/%s.png)\n".formatted(picture.alt(), folder().getFileName(), picture.name())));
            own.forEach(table -> text.append('\n').append(table));
        });
        return text.toString();
    }

    /**
     * Writes the page and its charts: first all of it beside the files it replaces, then each in its place, the page last.
     * Charts that only the replaced text showed are deleted.
     */
    void write() throws IOException {
        String old = Files.exists(file) ? Files.readString(file) : BEGIN + "\n" + END + "\n";
        int begin = only(old, BEGIN) + BEGIN.length();
        int end = only(old, END);
        if (begin > end) {
            throw new IOException(file + ": " + END + " stands before " + BEGIN);
        }
        String page = old.substring(0, begin) + "\n" + text() + old.substring(end);
        Map<Path, byte[]> files = new LinkedHashMap<>();
        pictures.values()
                .forEach(own ->
                        own.forEach(picture -> files.put(folder().resolve(picture.name() + ".png"), picture.png())));
        files.put(file, page.getBytes(StandardCharsets.UTF_8));
        replace(files);
        for (Path chart : shown(old.substring(begin, end))) {
            if (!files.containsKey(chart)) {
                Files.deleteIfExists(chart);
            }
        }
    }

    private static void replace(Map<Path, byte[]> files) throws IOException {
        Map<Path, Path> written = new LinkedHashMap<>();
        try {
            for (Map.Entry<Path, byte[]> entry : files.entrySet()) {
                Path target = entry.getKey();
                Files.createDirectories(target.getParent());
                Path temporary = target.resolveSibling(target.getFileName() + ".tmp");
                written.put(target, temporary);
                Files.write(temporary, entry.getValue());
            }
            for (Map.Entry<Path, Path> entry : written.entrySet()) {
                Files.move(
                        entry.getValue(),
                        entry.getKey(),
                        StandardCopyOption.ATOMIC_MOVE,
                        StandardCopyOption.REPLACE_EXISTING);
            }
        } finally {
            for (Path temporary : written.values()) {
                Files.deleteIfExists(temporary);
            }
        }
    }

    private Path folder() {
        return file.resolveSibling(file.getFileName().toString().replaceFirst("\\.md$", ""));
    }

    private List<Path> shown(String text) {
        List<Path> shown = new ArrayList<>();
        Matcher link = Pattern.compile("\\]\\(" + Pattern.quote(folder().getFileName() + "/") + "([\\w.=-]+\\.png)\\)")
                .matcher(text);
        while (link.find()) {
            shown.add(folder().resolve(link.group(1)));
        }
        return shown;
    }

    private int only(String text, String marker) throws IOException {
        int at = text.indexOf(marker);
        if (at < 0 || text.indexOf(marker, at + 1) >= 0) {
            throw new IOException(file + ": needs one line " + marker);
        }
        return at;
    }
}
