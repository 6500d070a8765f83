package io.multihead.text;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The definition of the Unigram model on strings: all parts of a word are looked up, for each position where a part may
 * end.
 */
final class PlainUnigram {
    private static final Pattern GRAPHEME = Pattern.compile("\\X");
    private static final int UNKNOWN = 3;

    private PlainUnigram() {}

    /** Returns the ids of a word, with one unknown token for consecutive unknown characters. */
    static List<Integer> divide(
            String word, List<String> pieces, double[] scores, double unknownScore, boolean rounded) {
        Map<String, Integer> ids = new HashMap<>();
        for (int id = 0; id < pieces.size(); id++) {
            ids.put(pieces.get(id), id);
        }
        int[] points = word.codePoints().toArray();
        double[] best = new double[points.length + 1];
        int[] starts = new int[points.length + 1];
        int[] last = new int[points.length + 1];
        for (int end = 1; end <= points.length; end++) {
            starts[end] = -1;
            for (int start = 0; start < end; start++) {
                Integer id = ids.get(new String(points, start, end - start));
                boolean unknown = id == null && end == start + 1;
                if (id == null && !unknown) {
                    continue;
                }
                double score = best[start] + (unknown ? unknownScore : scores[id]);
                // in SentencePiece, the score of a piece is a double, and the score of an unknown character is a float
                score = rounded && unknown ? (float) score : score;
                if (starts[end] < 0 || score > best[end]) {
                    best[end] = rounded ? (float) score : score;
                    starts[end] = start;
                    last[end] = unknown ? UNKNOWN : id;
                }
            }
        }
        List<Integer> reversed = new ArrayList<>();
        for (int end = points.length; end > 0; end = starts[end]) {
            if (last[end] != UNKNOWN || reversed.isEmpty() || reversed.getLast() != UNKNOWN) {
                reversed.add(last[end]);
            }
        }
        Collections.reverse(reversed);
        return reversed;
    }

    /** Returns the output of the crate's Precompiled for a text. */
    static String byClusters(String text, Map<String, String> characters) {
        StringBuilder result = new StringBuilder();
        Matcher clusters = GRAPHEME.matcher(text);
        while (clusters.find()) {
            String cluster = clusters.group();
            String shortest = shortest(cluster, characters);
            if (cluster.getBytes(StandardCharsets.UTF_8).length < 6 && shortest != null) {
                result.append(characters.get(shortest));
                continue;
            }
            cluster.codePoints()
                    .mapToObj(Character::toString)
                    .forEach(c -> result.append(characters.getOrDefault(c, c)));
        }
        return result.toString();
    }

    private static String shortest(String text, Map<String, String> characters) {
        for (int end = 1; end <= text.length(); end++) {
            if (characters.containsKey(text.substring(0, end))) {
                return text.substring(0, end);
            }
        }
        return null;
    }

    /** Returns the output of SentencePiece's normalizer for a text, with a prefix and without duplicate spaces. */
    static String bySequences(String text, Map<String, String> characters) {
        StringBuilder result = new StringBuilder();
        for (int at = 0; at < text.length(); ) {
            int end = text.length();
            while (end > at && !characters.containsKey(text.substring(at, end))) {
                end--;
            }
            int next = end > at ? end : at + Character.charCount(text.codePointAt(at));
            result.append(end > at ? characters.get(text.substring(at, end)) : text.substring(at, next));
            at = next;
        }
        String joined = result.toString().replaceAll("^ +", "").replaceAll(" +", " ");
        return joined.isEmpty() ? "" : ("\u2581" + joined.replace(' ', '\u2581')).replaceAll("\u2581+$", "");
    }
}
