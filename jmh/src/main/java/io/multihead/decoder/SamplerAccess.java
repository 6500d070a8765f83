package io.multihead.decoder;

/** Gives a benchmark access to the sampler of sessions, which is not part of the API. */
public final class SamplerAccess {
    private static final SeenTokens NOTHING = new SeenTokens(new TokenList());

    private final Sampler sampler;

    public SamplerAccess(int vocabulary) {
        sampler = new Sampler(vocabulary);
    }

    /** Chooses the token at an index of a text. */
    public int choose(float[] logits, Sampling sampling, long index) {
        return sampler.choose(logits, NOTHING, sampling, index);
    }
}
