package io.multihead.internal.encoder.run;

/** Receives the vectors of texts, one by one. */
public interface VectorSink {
    /** Takes the vector of the next text, its tokens, and how many of them were ignored. */
    void accept(float[] vector, int tokens, int ignored);
}
