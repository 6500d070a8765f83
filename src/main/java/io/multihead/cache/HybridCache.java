package io.multihead.cache;

import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * Several caches with one numbering of layers and of sequences: keys and values of several sizes, or keys and values together with
 * recurrent states. This cache owns its parts, and opens, forks and closes their sequences together.
 */
public final class HybridCache implements SequenceCache {
    private final List<SequenceCache> parts;
    private final int[] partOf;
    private final int[] layerOf;

    private HybridCache(List<SequenceCache> parts, int[] partOf, int[] layerOf) {
        this.parts = parts;
        this.partOf = partOf;
        this.layerOf = layerOf;
    }

    /**
     * {@return a cache made of several caches}
     *
     * @param parts caches without sequences, none of them a hybrid; only the new cache may change them from now on
     * @param partOf for each layer, the index of its part; the layers of a part are in the same order
     * @throws IllegalArgumentException if there is no part, or a part has sequences, is a hybrid, is given twice, or has another number of
     *     layers than {@code partOf}
     */
    public static HybridCache of(List<? extends SequenceCache> parts, int... partOf) {
        List<SequenceCache> all = List.copyOf(Checks.noNulls(parts, "parts"));
        if (all.isEmpty()) {
            throw Checks.fail("parts", "none", "expected at least one");
        }
        int[] copy = Checks.notNull(partOf, "partOf").clone();
        int[] layers = new int[copy.length];
        int[] counts = new int[all.size()];
        for (int layer = 0; layer < copy.length; layer++) {
            Checks.index(copy[layer], all.size(), "partOf[" + layer + "]");
            layers[layer] = counts[copy[layer]]++;
        }
        for (int i = 0; i < counts.length; i++) {
            SequenceCache part = all.get(i);
            if (part instanceof HybridCache || all.indexOf(part) != i) {
                throw Checks.fail(
                        "parts[" + i + "]", "a hybrid or given twice", "expected different caches that are not hybrid");
            }
            Checks.length(part.layers(), counts[i], "layers of parts[" + i + "]", "as many as partOf names");
            requireEmpty(part, i);
        }
        return new HybridCache(all, copy, layers);
    }

    private static void requireEmpty(SequenceCache part, int index) {
        int first = part.open();
        part.close(first);
        if (first != 0 || part.usedBytes() > 0) {
            throw Checks.fail("parts[" + index + "]", "one with sequences", "expected none");
        }
    }

    @Override
    public List<SequenceCache> parts() {
        return parts;
    }

    @Override
    public void limitStates(long states) {
        Checks.atLeast(states, 1, "states");
        parts.forEach(part -> part.limitStates(states));
    }

    @Override
    public int layers() {
        return partOf.length;
    }

    @Override
    public SequenceCache part(int layer) {
        return parts.get(partOf[(int) Checks.index(layer, partOf.length, "layer")]);
    }

    @Override
    public int layerOfPart(int layer) {
        return layerOf[(int) Checks.index(layer, partOf.length, "layer")];
    }

    @Override
    public int open() {
        List<SequenceCache> opened = new ArrayList<>();
        int number = -1;
        try {
            for (SequenceCache part : parts) {
                number = part.open();
                opened.add(part);
            }
            return number;
        } catch (Throwable failed) {
            closeAll(opened, number);
            throw failed;
        }
    }

    @Override
    public int fork(int sequence) {
        List<SequenceCache> opened = new ArrayList<>();
        int number = -1;
        try {
            for (SequenceCache part : parts) {
                number = part.fork(sequence);
                opened.add(part);
            }
            return number;
        } catch (Throwable failed) {
            closeAll(opened, number);
            throw failed;
        }
    }

    private static void closeAll(List<SequenceCache> opened, int number) {
        opened.forEach(part -> part.close(number));
    }

    @Override
    public void close(int sequence) {
        closeAll(parts, sequence);
    }

    @Override
    public long length(int layer, int sequence) {
        return part(layer).length(layerOf[layer], sequence);
    }

    @Override
    public long firstKey(int sequence) {
        return most(part -> part.firstKey(sequence));
    }

    @Override
    public boolean truncatesAnywhere() {
        return parts.stream().allMatch(SequenceCache::truncatesAnywhere);
    }

    @Override
    public long restorable(int sequence, long length) {
        long common = Checks.atLeast(length, 0, "length");
        for (int i = 0; i < parts.size() && common >= 0; i++) { // until all parts can keep the same length
            long least = parts.get(i).restorable(sequence, common);
            i = least < common ? -1 : i;
            common = least;
        }
        return common;
    }

    @Override
    public void truncate(int sequence, long length) {
        long most = restorable(sequence, length);
        boolean isShorter = true;
        for (int layer = 0; layer < layers(); layer++) {
            isShorter &= length(layer, sequence) <= length;
        }
        if (isShorter) {
            return;
        }
        if (most != length) {
            throw Checks.fail(
                    "length", String.valueOf(length), "expected a length that all layers can have, such as " + most);
        }
        for (int i = 0; i < parts.size(); i++) {
            parts.get(i).truncate(sequence, length);
        }
    }

    @Override
    public void snapshot(int sequence) {
        for (int i = 0; i < parts.size(); i++) {
            parts.get(i).snapshot(sequence);
        }
    }

    @Override
    public boolean slides() {
        return parts.stream().allMatch(SequenceCache::slides);
    }

    @Override
    public void slide(int sequence, long firstKey) {
        for (SequenceCache part : parts) {
            if (!part.slides()) {
                part.slide(sequence, firstKey); // always fails, with the sequence's number, before keys are dropped
            }
        }
        for (int i = 0; i < parts.size(); i++) {
            parts.get(i).slide(sequence, firstKey);
        }
    }

    @Override
    public long bytesPerToken() {
        return sum(SequenceCache::bytesPerToken);
    }

    @Override
    public long bytesOfTokens(long tokens) {
        return sum(part -> part.bytesOfTokens(tokens));
    }

    @Override
    public long bytesPerSequence() {
        return sum(SequenceCache::bytesPerSequence);
    }

    @Override
    public long usedBytes() {
        return sum(SequenceCache::usedBytes);
    }

    @Override
    public long bytesOf(int... of) {
        Checks.notNull(of, "of");
        return sum(part -> part.bytesOf(of));
    }

    @Override
    public long availableTokens() {
        long least = Long.MAX_VALUE;
        for (SequenceCache part : parts) {
            least = Math.min(least, part.availableTokens());
        }
        return least;
    }

    @Override
    public long neededTokens(int sequence, long tokens) {
        return most(part -> part.neededTokens(sequence, tokens));
    }

    @Override
    public long freedTokens(int sequence, long length) {
        return most(part -> part.freedTokens(sequence, length));
    }

    private long sum(ToLongFunction<SequenceCache> number) {
        return parts.stream().mapToLong(number).sum();
    }

    private long most(ToLongFunction<SequenceCache> number) {
        return parts.stream().mapToLong(number).max().orElse(0);
    }

    /** Returns the number of parts and the part of each layer, for messages. */
    @Override
    public String toString() {
        return "HybridCache[" + parts.size() + " caches, layers in " + Arrays.toString(partOf) + "]";
    }
}
