package io.multihead.grammar;

import java.util.Arrays;

/**
 * The bytes of tokens as a tree, whose nodes are in depth-first order. The children of a node follow the node, and the end of its subtree
 * is known. Therefore a walk is one loop, and a forbidden byte skips all tokens that continue with this byte.
 */
final class TokenTrie {
    private static final int NONE = -1;

    /** The transitions between configurations. */
    @FunctionalInterface
    interface Steps {
        /** Returns the configuration after a byte. */
        Configuration step(Configuration from, int value);
    }

    private final byte[] value;
    private final int[] depth;
    /** The node after the subtree of this node. */
    private final int[] behind;
    /** The first token whose bytes end at a node. The other tokens with these bytes follow in {@link #same}. */
    private final int[] token;

    private final int[] same;
    private final int deepest;

    /** Makes the tree of some of the tokens. {@code order} has their ids, sorted by their unsigned bytes. */
    TokenTrie(byte[][] bytes, int[] order) {
        int most = 0;
        for (int id : order) {
            most = Math.addExact(most, bytes[id].length);
        }
        byte[] values = new byte[most];
        int[] depths = new int[most];
        int[] tokens = new int[most];
        same = new int[bytes.length];
        Arrays.fill(same, NONE);
        int nodes = 0;
        int longest = 0;
        byte[] before = new byte[0];
        for (int id : order) {
            byte[] now = bytes[id];
            int shared = Arrays.mismatch(before, now);
            if (shared < 0) {
                same[id] = tokens[nodes - 1];
                tokens[nodes - 1] = id;
                continue;
            }
            for (int i = shared; i < now.length; i++) {
                values[nodes] = now[i];
                depths[nodes] = i;
                tokens[nodes] = NONE;
                nodes++;
            }
            tokens[nodes - 1] = id;
            longest = Math.max(longest, now.length);
            before = now;
        }
        value = Arrays.copyOf(values, nodes);
        depth = Arrays.copyOf(depths, nodes);
        token = Arrays.copyOf(tokens, nodes);
        behind = ends(depth);
        deepest = longest;
    }

    /** Returns for each node the next node that is not deeper. */
    private static int[] ends(int[] depth) {
        int[] behind = new int[depth.length];
        for (int node = depth.length - 1; node >= 0; node--) {
            int end = node + 1;
            while (end < depth.length && depth[end] > depth[node]) {
                end = behind[end];
            }
            behind[node] = end;
        }
        return behind;
    }

    /** Allows the tokens whose bytes may follow a configuration. */
    void allow(Steps steps, Configuration from, TokenMask mask) {
        Configuration[] path = new Configuration[deepest + 1];
        path[0] = from;
        int node = 0;
        while (node < value.length) {
            int level = depth[node];
            Configuration to = steps.step(path[level], value[node] & 0xff);
            if (to.isDead()) {
                node = behind[node];
                continue;
            }
            path[level + 1] = to;
            for (int id = token[node]; id != NONE; id = same[id]) {
                mask.allow(id);
            }
            node++;
        }
    }
}
