package io.multihead.demo;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The corpus to search: sentences, and the title of the fable of each sentence. */
record Fables(List<String> sentences, List<String> titles) {
    /** The source of the text, as the page shows it. */
    static final String SOURCE = "fables of Aesop, translated by George Fyler Townsend (London, 1867; public domain)";

    Fables first(int most) {
        int count = Math.min(most, sentences.size());
        return new Fables(sentences.subList(0, count), titles.subList(0, count));
    }

    static Fables read() throws IOException {
        List<String> sentences = new ArrayList<>();
        List<String> titles = new ArrayList<>();
        String title = "";
        for (String line : Resources.text("/fables.txt").lines().toList()) {
            if (line.startsWith("== ")) {
                title = line.substring(3);
            } else if (!line.startsWith("#")) {
                sentences.add(line);
                titles.add(title);
            }
        }
        return new Fables(List.copyOf(sentences), List.copyOf(titles));
    }
}
