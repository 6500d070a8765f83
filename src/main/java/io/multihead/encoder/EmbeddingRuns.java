package io.multihead.encoder;

/** Runs over texts, and what they share. */
final class EmbeddingRuns extends IdleRuns<EmbeddingRun> {
    private final EncoderCore core;
    private final DenseLayers dense;

    EmbeddingRuns(EncoderCore core, DenseLayers dense) {
        super(() -> new EmbeddingRun(core, dense));
        this.core = core;
        this.dense = dense;
    }

    EncoderCore core() {
        return core;
    }

    /** Returns what comes after pooling. */
    DenseLayers dense() {
        return dense;
    }
}
