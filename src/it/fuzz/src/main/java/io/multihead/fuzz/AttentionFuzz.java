package io.multihead.fuzz;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import io.multihead.attention.AttentionOutputs;
import io.multihead.compute.Compute;
import io.multihead.support.AttentionCase;
import io.multihead.support.AttentionCase.MaskKind;
import io.multihead.support.AttentionCase.Sizes;
import io.multihead.support.AttentionCase.Storage;
import io.multihead.support.AttentionCheck;
import io.multihead.support.Layout;
import io.multihead.tensor.DType;
import java.lang.foreign.Arena;

/**
 * Compares whole calls of attention with the specification: sizes, element types, strides, masks, options and outputs.
 */
public final class AttentionFuzz {
    private static final Compute CPU = Compute.serial();
    private static final long MOST_PRODUCTS = 300_000;

    private AttentionFuzz() {}

    public static void fuzzerTestOneInput(FuzzedDataProvider data) {
        Sizes sizes = new Sizes(
                data.consumeInt(1, 3),
                data.consumeInt(1, 3),
                data.consumeInt(1, 3),
                data.consumeInt(0, 300),
                data.consumeInt(0, 300),
                data.consumeInt(1, 150),
                data.consumeInt(1, 150));
        long products = (long) sizes.batch()
                * sizes.kvHeads()
                * sizes.group()
                * sizes.queries()
                * sizes.keys()
                * (sizes.headDim() + sizes.valueDim());
        if (products > MOST_PRODUCTS) {
            return;
        }
        DType output = data.pickValue(new DType[] {DType.F32, DType.F64, DType.BF16, DType.F16});
        AttentionCase attentionCase = new AttentionCase(
                sizes,
                data.pickValue(MaskKind.values()),
                data.pickValue(new double[] {1e-3, 0.3, 1, 3}),
                data.pickValue(new double[] {0, 1}),
                new Storage(
                        data.pickValue(DType.values()),
                        data.pickValue(DType.values()),
                        output,
                        data.pickValue(Layout.values()),
                        data.pickValue(Layout.values())),
                data.consumeLong());
        boolean weights = data.consumeBoolean();
        try (Arena arena = Arena.ofConfined()) {
            AttentionCase.Built built = attentionCase.build(arena);
            AttentionOutputs outputs =
                    built.outputs(arena, attentionCase.storage().results(), output, weights);
            built.run(CPU, outputs);
            AttentionCheck.all(attentionCase, outputs, built.reference());
        } catch (RuntimeException | AssertionError failed) {
            throw new AssertionError(attentionCase + ", weights " + weights + ": " + failed, failed);
        }
    }
}
