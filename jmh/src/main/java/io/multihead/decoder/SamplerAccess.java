package io.multihead.decoder;

/** The sampler of sessions, which is no part of the API, for its benchmark. */
public final class SamplerAccess {
    private static final SeenTokens NOTHING = new SeenTokens(new TokenList());

    private final Sampler sampler;

    public SamplerAccess(int vocabulary) {
        sampler = new Sampler(vocabulary);
    }

    /** Chooses the token of an index of a text. */
    public int choose(float[] logits, Sampling sampling, long index) {
        return sampler.choose(logits, NOTHING, sampling, index);
    }
}
