package io.multihead.jmh.report;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.DoubleFunction;
import java.util.function.Predicate;

/**
 * Horizontal bars in groups, as SVG, below a title. Each bar has a separate line with its name before and its number
 * after it, so that texts never overlap. A dashed line marks a limit that is not NaN. Bars of this library's impls have
 * another color.
 */
record Chart(String title, List<Group> groups, double limit, DoubleFunction<String> numbers, Predicate<String> ours) {
    private static final int WIDTH = 900;
    private static final int LINE = 18;
    /** The mean width of a letter of 12 pixels. Names have few wide letters such as m and W. */
    private static final double LETTER = 7.2;

    private static final int NUMBER = 70;
    private static final int TOP = 34;
    private static final String OURS = "#0072b2";
    private static final String PEER = "#b9b3a5";

    /** The bars of one case by impl, in drawing order, and the name above them. */
    record Group(String name, Map<String, Double> bars) {}

    String svg() {
        double left = LETTER * longestName() + 12;
        double longest = groups.stream()
                .flatMap(group -> group.bars().values().stream())
                .mapToDouble(value -> value)
                .max()
                .orElse(1);
        double scale = (WIDTH - left - NUMBER) / (limit > longest ? limit : longest);
        StringBuilder parts = new StringBuilder();
        int y = TOP;
        for (Group group : groups) {
            parts.append(
                    "<text x=\"8\" y=\"%d\" font-weight=\"bold\">%s</text>\n".formatted(y + 15, text(group.name())));
            y += LINE + 4;
            for (Map.Entry<String, Double> bar : group.bars().entrySet()) {
                parts.append(bar(bar.getKey(), bar.getValue(), left, y, scale));
                y += LINE;
            }
            y += 8;
        }
        return """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$d %2$d" width="%1$d" height="%2$d" font-family="sans-serif" font-size="12">
                <rect width="%1$d" height="%2$d" fill="white"/>
                <text x="8" y="21" font-size="13" font-weight="bold">%3$s</text>
                %4$s%5$s</svg>
                """.formatted(WIDTH, y + 4, text(title), limit(left + scale * limit, y), parts);
    }

    private int longestName() {
        return groups.stream()
                .flatMap(group -> group.bars().keySet().stream())
                .mapToInt(String::length)
                .max()
                .orElse(0);
    }

    private String bar(String impl, double value, double left, int y, double scale) {
        return String.format(
                Locale.ROOT,
                """
                <text x="%.1f" y="%d" text-anchor="end">%s</text>
                <rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>
                <text x="%.1f" y="%d" stroke="white" stroke-width="4" paint-order="stroke">%s</text>
                """,
                left - 6,
                y + 13,
                text(impl),
                left,
                y + 2,
                scale * value,
                LINE - 4,
                ours.test(impl) ? OURS : PEER,
                left + scale * value + 5,
                y + 13,
                numbers.apply(value));
    }

    private String limit(double x, int bottom) {
        return Double.isNaN(limit)
                ? ""
                : String.format(
                        Locale.ROOT,
                        "<path d=\"M%.1f %dV%d\" stroke=\"black\" stroke-dasharray=\"6 5\"/>\n",
                        x,
                        TOP,
                        bottom);
    }

    private static String text(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}
