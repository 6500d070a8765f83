package io.multihead.demo;

import java.util.List;

/**
 * One exhibit of the page.
 *
 * @param title its heading
 * @param caption the content and the method of its computation
 * @param charts the pictures, in order
 * @param table rows of cells, or empty. The first row is the head.
 * @param panel trusted HTML of an interactive part, or empty
 * @param finding one sentence, which is computed from the data
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
     * @param name the file name without extension
     * @param svg the drawing as an {@code svg} element, including its color bar, if any
     * @param png the drawing as an image file
     */
    record Picture(String name, String svg, byte[] png) {}
}
