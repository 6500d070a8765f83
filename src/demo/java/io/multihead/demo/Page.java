package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.UUID;

/** The study's page, which is one self-contained file. Every chart is also an image file. */
final class Page {
    private static final String STYLE = """
            :root{color-scheme:light}
            body{font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;margin:0;background:#f4f5f7;color:#1c1e21}
            main{max-width:1080px;margin:0 auto;padding:24px}
            h1{margin:.2em 0}h2{margin:0 0 .3em;font-size:1.25rem}
            section{background:#fff;border:1px solid #dfe1e6;border-radius:10px;padding:22px 26px;margin:22px 0}
            .charts{display:flex;flex-wrap:wrap;gap:10px;justify-content:center}
            .charts.small figure{width:490px}
            figure{margin:0}
                                    /* the SVG writer omits its default size */
            svg{max-width:100%;height:auto;font-size:12px}
            .caption{color:#50555d;margin:.2em 0 1em}
            .finding{border-left:4px solid #0072b2;background:#eef5fa;padding:10px 14px;margin:16px 0 0}
            dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px}dt{color:#50555d}dd{margin:0}
            table{border-collapse:collapse;margin:10px auto}td,th{padding:5px 14px;border-bottom:1px solid #dfe1e6}
            th{text-align:left;background:#f4f5f7}th:not(:first-child){text-align:right}td{white-space:nowrap}td:not(:first-child){text-align:right;font-variant-numeric:tabular-nums}
            ol{columns:2}a{color:#0072b2}
            .sample{white-space:pre-wrap;font-family:Georgia,serif;background:#f4f5f7;border-radius:8px;padding:14px 20px;margin:14px 40px}
            .search select{font:inherit;max-width:100%;width:100%;padding:6px;margin:4px 0 10px}
            .search ol{columns:1;padding-left:1.4em}.search li{margin:6px 0}.search i{color:#50555d}
            /* so light that browsers which make pages dark invert it with its text */
            .search mark{color:#14171a;background:color-mix(in srgb,var(--c) calc(.5*var(--s)),#fff);border-radius:3px;padding:0 2px}
            .search sup{font-size:.65em;line-height:0}
            .w0{--c:#f5b041}.w1{--c:#7fb3e6}.w2{--c:#82c99a}.w3{--c:#e69ac6}.w4{--c:#d9cf5b}.w5{--c:#b9a3ea}.w6{--c:#f0957f}.w7{--c:#7fd0cf}
            """;

    private final List<String[]> facts;
    private final List<Exhibit> exhibits;

    Page(List<String[]> facts, List<Exhibit> exhibits) {
        this.facts = facts;
        this.exhibits = exhibits;
    }

    /** Writes all files atomically, with the page as the last one. */
    void write(Path folder) throws IOException {
        Files.createDirectories(folder);
        for (Exhibit exhibit : exhibits) {
            for (Exhibit.Picture picture : exhibit.charts()) {
                replace(folder.resolve(picture.name() + ".png"), picture.png());
            }
        }
        replace(folder.resolve("index.html"), html().getBytes(StandardCharsets.UTF_8));
    }

    String html() {
        StringBuilder page = new StringBuilder("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
        page.append(
                "<meta name=\"viewport\" content=\"width=device-width\"><title>Multihead: the study</title><style>");
        page.append(STYLE).append("</style></head><body><main><h1>Multi-head attention, looked at</h1><dl>");
        for (String[] fact : facts) {
            page.append(format("<dt>%s</dt><dd>%s</dd>", escape(fact[0]), escape(fact[1])));
        }
        page.append("</dl><ol>");
        for (int i = 0; i < exhibits.size(); i++) {
            String title = escape(exhibits.get(i).title());
            page.append(format("<li><a href=\"#exhibit-%d\">%s</a></li>", i + 1, title));
        }
        page.append("</ol>");
        for (int i = 0; i < exhibits.size(); i++) {
            section(page, i + 1, exhibits.get(i));
        }
        return page.append("</main></body></html>\n").toString();
    }

    private static void section(StringBuilder page, int number, Exhibit exhibit) {
        page.append(format(
                "<section id=\"exhibit-%1$d\"><h2>%1$d. %2$s</h2><p class=\"caption\">%3$s</p><div class=\"charts%4$s\">",
                number,
                escape(exhibit.title()),
                escape(exhibit.caption()),
                exhibit.charts().size() > 2 ? " small" : ""));
        for (Exhibit.Picture picture : exhibit.charts()) {
            page.append("<figure>").append(picture.svg()).append("</figure>");
        }
        page.append("</div>").append(exhibit.panel());
        table(page, exhibit.table());
        page.append(format("<p class=\"finding\">%s</p></section>", escape(exhibit.finding())));
    }

    private static void table(StringBuilder page, List<List<String>> rows) {
        if (rows.isEmpty()) {
            return;
        }
        page.append("<table>");
        for (int i = 0; i < rows.size(); i++) {
            String cell = i == 0 ? "<th>%s</th>" : "<td>%s</td>";
            page.append("<tr>");
            rows.get(i).forEach(text -> page.append(format(cell, escape(text))));
            page.append("</tr>");
        }
        page.append("</table>");
    }

    private static void replace(Path file, byte[] content) throws IOException {
        Path temporary = file.resolveSibling(file.getFileName() + "." + UUID.randomUUID() + ".tmp");
        temporary.toFile().deleteOnExit(); // also deleted after an interruption
        try {
            Files.write(temporary, content);
            Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(temporary);
        }
    }

    static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}
