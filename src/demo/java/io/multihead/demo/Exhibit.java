package io.multihead.demo;

import java.util.List;

/**
 * One exhibit of the page.
 *
 * @param title its heading
 * @param caption the content and how it was computed
 * @param charts the pictures, in order
 * @param table rows of cells, the first row is the head; empty for none
 * @param panel HTML of an interactive part, which is trusted; empty for none
 * @param finding one sentence, computed from the data
 */
record Exhibit(
        String title, String caption, List<Picture> charts, List<List<String>> table, String panel, String finding) {
    Exhibit(String title, String caption, List<Picture> charts, List<List<String>> table, String finding) {
        this(title, caption, charts, table, "", finding);
    }

    Exhibit(String title, String caption, List<Picture> charts, String finding) {
        this(title, caption, charts, List.of(), "", finding);
    }

    Exhibit(String title, String caption, String panel, String finding) {
        this(title, caption, List.of(), List.of(), panel, finding);
    }

    /**
     * A drawn chart.
     *
     * @param name file name without ending
     * @param svg the drawing, an {@code svg} element with its color bar, if it has one
     * @param png the same as an image file
     */
    record Picture(String name, String svg, byte[] png) {}
}
