package io.multihead.internal.encoder.run;

/** Receives the vectors of texts, one by one. */
public interface VectorSink {
    /** Takes the vector of the next text, the number of its tokens, and the number of ignored tokens. */
    void accept(float[] vector, int tokens, int ignored);
}
