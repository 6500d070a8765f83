package io.multihead.attention;

import io.multihead.internal.attention.Stage;

/**
 * The stage at which {@link AttentionOutputs#withScores} reads scores, in the order of computation: {@link #SCALED}, {@link #CAPPED},
 * {@link #MASKED}, {@link #WEIGHTS}.
 *
 * <p>These are the modes 0 to 3 of {@code qk_matmul_output_mode} of the ONNX operator Attention, numbered and ordered as in its
 * specification since the correction of 2026 (pull requests 7867 and 7913 of onnx): the soft-cap comes before the mask. In their first
 * release, opsets 23 and 24 had mode 1 after the mask and mode 2 after a soft-cap that followed the mask, which gives weights to hidden
 * keys. That order is not supported. Without a soft-cap, the first release's modes 1 and 2 are both {@link #MASKED}.
 */
public enum ScoreStage {
    /**
     * {@code scale * Q K^T}, with nothing hidden: every stored key has its score, even if the mask hides it. Keys beyond the length of a {@link
     * KeyValueView}'s sequence, and keys that a cache has dropped, have minus infinity.
     */
    SCALED(Stage.SCALED),
    /** The scaled scores after the soft-cap of {@link ScoreOptions}; without a soft-cap the same as {@link #SCALED}. Nothing is hidden. */
    CAPPED(Stage.CAPPED),
    /**
     * The scores that enter the softmax: after the soft-cap, linear biases, the mask with its biases, and the modifier. A key that
     * the mask hides, that is beyond a key length, or that is not stored has minus infinity. Sinks are not keys and have no column.
     */
    MASKED(Stage.MASKED),
    /** After the softmax: the bits of {@link AttentionOutputs#weights}, before dropout; 0 for hidden keys. */
    WEIGHTS(Stage.WEIGHTS);

    private final Stage stage;

    ScoreStage(Stage stage) {
        this.stage = stage;
    }

    /** Returns the engine's name of this stage. */
    Stage stage() {
        return stage;
    }
}
