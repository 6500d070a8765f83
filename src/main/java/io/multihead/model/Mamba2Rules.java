package io.multihead.model;

import io.multihead.internal.nn.RowNorm;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The settings of {@link Mamba2Pass}.
 *
 * @param layout the location of the rows of a token
 * @param decay the decay of the states, whose softplus is the rate
 * @param skip the factor of x in the results of each head
 * @param norm the norm of all results of a token
 * @param norms the norms of equal parts of the results, in the order of the parts
 */
@SuppressWarnings("ArrayRecordComponent")
record Mamba2Rules(Mamba2Layout layout, LinearDecay decay, float[] skip, RowNorm norm, List<RowNorm> norms) {
    static Mamba2Rules of(Mamba2Heads heads, LinearDecay decay, RowNorm norm) {
        return new Mamba2Rules(new Mamba2Layout(heads), decay, new float[heads.heads()], norm, List.of(norm));
    }

    Mamba2Rules withSkip(float... newSkip) {
        return new Mamba2Rules(layout, decay, newSkip, norm, norms);
    }

    Mamba2Rules withNormParts(int parts) {
        int length = norm.length() / parts;
        List<RowNorm> all = IntStream.range(0, parts)
                .mapToObj(part -> new RowNorm(
                        length,
                        norm.centered(),
                        norm.epsilon(),
                        part(norm.weight(), part, length),
                        part(norm.bias(), part, length)))
                .toList();
        return new Mamba2Rules(layout, decay, skip, norm, all);
    }

    private static float[] part(float[] of, int part, int length) {
        return Arrays.copyOf(Arrays.copyOfRange(of, part * length, (part + 1) * length), PartLayout.stride(length));
    }
}
