package io.multihead.internal.text.pairs;

import io.multihead.internal.base.Checks;
import java.util.List;
import java.util.Map;

/** Two tokens that become one, in the form of files. */
public record Merge(String left, String right) {
    /** Reads two tokens with a space between them; the first one may be a space itself. */
    public static Merge of(String text) {
        int space = text.indexOf(' ', 1);
        if (space < 0 || space == text.length() - 1) {
            throw Checks.fail("merge", "\"" + text + "\"", "expected two tokens with a space between");
        }
        return new Merge(text.substring(0, space), text.substring(space + 1));
    }

    /** Returns the table of merges in the order of a list, whose tokens must all have ids. */
    public static MergeTable table(List<Merge> merges, Map<String, Integer> ids) {
        Checks.index(merges.size(), MergeTable.MOST_MERGES, "merges");
        int[] ranks = new int[merges.size()];
        int[] results = new int[merges.size()];
        MergeTable table = new MergeTable(ranks, results);
        for (int i = 0; i < ranks.length; i++) {
            Merge merge = merges.get(i);
            ranks[i] = i;
            results[i] = id(ids, merge.left + merge.right, i);
            table.put(id(ids, merge.left, i), id(ids, merge.right, i), i);
        }
        return table;
    }

    private static int id(Map<String, Integer> ids, String token, int merge) {
        Integer id = ids.get(token);
        if (id == null) {
            throw Checks.fail("merges[" + merge + "]", "\"" + token + "\"", "expected tokens of the vocabulary");
        }
        return id;
    }
}
