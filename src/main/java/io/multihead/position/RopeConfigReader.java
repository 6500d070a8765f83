package io.multihead.position;

import io.multihead.internal.base.Checks;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the dictionary that names the rotary embedding of a model in Hugging Face's {@code config.json}: {@code rope_scaling}, or {@code
 * rope_parameters} as transformers 5 writes it. The reader holds the settings of positions outside the dictionary. Immutable and
 * thread-safe.
 *
 * <p>The types {@code default}, {@code linear}, {@code yarn}, {@code longrope} (and its old name {@code su}), {@code llama3} and
 * {@code proportional} are read. Each key has the meaning that transformers gives to it; <a
 * href="https://github.com/huggingface/transformers/blob/main/src/transformers/modeling_rope_utils.py">modeling_rope_utils.py</a> defines
 * these meanings. {@code docs/positions.md} has a table of the keys. An unknown key is an error that names it, unless its value is null,
 * because ignoring it could change a frequency. The type {@code dynamic} is an error, too: its frequencies depend on the current length and
 * do not fit the keys that a cache has already rotated.
 *
 * <p>A file with one dictionary per type of layer, as Gemma's {@code rope_parameters}, takes one call for each dictionary.
 */
public final class RopeConfigReader {
    private final int headDim;
    private final double theta;
    private final long maxPositions;
    private final double partialRotaryFactor;
    private final long originalMaxPositions;
    private final long context;

    private RopeConfigReader(
            int headDim,
            double theta,
            long maxPositions,
            double partialRotaryFactor,
            long originalMaxPositions,
            long context) {
        this.headDim = headDim;
        this.theta = theta;
        this.maxPositions = maxPositions;
        this.partialRotaryFactor = partialRotaryFactor;
        this.originalMaxPositions = originalMaxPositions;
        this.context = context;
    }

    /**
     * {@return the reader of a model whose whole heads are rotated}
     *
     * @param headDim {@code head_dim}, or {@code hidden_size / num_attention_heads} if the file has none
     * @param theta {@code rope_theta}; a {@code rope_theta} in the dictionary overrides it
     * @param maxPositions {@code max_position_embeddings}, at least 1
     * @throws IllegalArgumentException if {@code headDim} or {@code maxPositions} is below 1, or theta is not a finite number above 1
     */
    public static RopeConfigReader of(int headDim, double theta, long maxPositions) {
        Checks.atLeast(headDim, 1, "headDim");
        if (!(theta > 1 && theta < Double.POSITIVE_INFINITY)) {
            throw Checks.fail("theta", String.valueOf(theta), "expected a finite number above 1");
        }
        Checks.atLeast(maxPositions, 1, "maxPositions");
        return new RopeConfigReader(headDim, theta, maxPositions, 1, 0, maxPositions);
    }

    /**
     * Returns this reader for a model that rotates a part of each head.
     *
     * @param newPartialRotaryFactor {@code partial_rotary_factor} of the file, above 0 and at most 1; a value in the dictionary overrides it
     * @return the changed reader
     * @throws IllegalArgumentException if it is out of its range
     */
    public RopeConfigReader withPartialRotaryFactor(double newPartialRotaryFactor) {
        double checked = requireFraction(newPartialRotaryFactor, "partialRotaryFactor");
        return new RopeConfigReader(headDim, theta, maxPositions, checked, originalMaxPositions, context);
    }

    /**
     * Returns this reader for a file that has {@code original_max_position_embeddings} outside the dictionary, as in Phi-3.
     *
     * @param newOriginalMaxPositions at least 1
     * @return the changed reader
     * @throws IllegalArgumentException if it is out of its range
     */
    public RopeConfigReader withOriginalMaxPositions(long newOriginalMaxPositions) {
        Checks.atLeast(newOriginalMaxPositions, 1, "originalMaxPositions");
        return new RopeConfigReader(
                headDim, theta, maxPositions, partialRotaryFactor, newOriginalMaxPositions, context);
    }

    /**
     * Returns this reader for sequences that stay shorter than the model allows. This only selects the short or the long factors of
     * {@code longrope}; see {@link RopeScaling.LongRope}.
     *
     * @param newContext the largest number of tokens of a sequence, at least 1; {@code maxPositions} unless this is set
     * @return the changed reader
     * @throws IllegalArgumentException if it is out of its range
     */
    public RopeConfigReader withContext(long newContext) {
        Checks.atLeast(newContext, 1, "context");
        return new RopeConfigReader(
                headDim, theta, maxPositions, partialRotaryFactor, originalMaxPositions, newContext);
    }

    /**
     * Reads a dictionary. Values are numbers, strings, booleans, and lists of numbers, as readers of JSON return them.
     *
     * @param dictionary the value of {@code rope_scaling} or {@code rope_parameters}; null or empty for none. Read during the call only
     * @param pairing which elements form a pair; {@link Rope.Pairing#HALF_SPLIT} in the files of most models
     * @return the embedding, with the sections of {@code mrope_section} if the dictionary has them
     * @throws IllegalArgumentException if the type or a key is unknown, a key is missing, or a value has
     *     another type or is out of its range; the message names the key
     */
    public Rope read(@Nullable Map<String, @Nullable Object> dictionary, Rope.Pairing pairing) {
        Checks.notNull(pairing, "pairing");
        RopeDictionary entries =
                new RopeDictionary(dictionary == null ? new HashMap<String, @Nullable Object>() : dictionary);
        double base = entries.number("rope_theta", theta);
        double fraction =
                requireFraction(entries.number("partial_rotary_factor", partialRotaryFactor), "partial_rotary_factor");
        RopeSections sections = entries.sections();
        String type = entries.type();
        RopeScaling scaling = scaling(type, entries, fraction);
        entries.requireAllRead(type);
        // the type proportional has pairs over the whole head, and does not rotate the last pairs
        int rotaryDims = type.equals("proportional") ? headDim : (int) (headDim * fraction);
        Rope rope = Rope.of(new Rope.Config(rotaryDims, base, pairing, scaling));
        return sections == null ? rope : rope.withSections(sections);
    }

    private RopeScaling scaling(String type, RopeDictionary entries, double fraction) {
        return switch (type) {
            case "default" -> RopeScaling.NONE;
            case "linear" -> new RopeScaling.Linear(entries.number("factor"));
            case "yarn" -> yarn(entries);
            case "longrope", "su" -> longRope(entries);
            case "llama3" ->
                new RopeScaling.Llama3(
                        entries.number("factor"),
                        entries.number("low_freq_factor"),
                        entries.number("high_freq_factor"),
                        originalContext(entries));
            case "proportional" -> new RopeScaling.Proportional(fraction, entries.number("factor", 1));
            case "dynamic" ->
                throw Checks.fail(
                        "rope_type",
                        type,
                        "its frequencies depend on the current length and do not fit rotated keys of a cache; expected"
                                + " RopeScaling.NtkAware for the longest context instead");
            default ->
                throw Checks.fail(
                        "rope_type", type, "expected default, linear, yarn, longrope, llama3 or proportional");
        };
    }

    private RopeScaling yarn(RopeDictionary entries) {
        long original = originalContext(entries);
        double factor = entries.number("factor", (double) maxPositions / original);
        double mscale = entries.number("mscale", 0);
        double mscaleAllDim = entries.number("mscale_all_dim", 0);
        // as in transformers, one of the two keys without the other has no effect on cosine and sine
        double inferred = mscale != 0 && mscaleAllDim != 0
                ? RopeScaling.Yarn.magnitude(factor, mscale) / RopeScaling.Yarn.magnitude(factor, mscaleAllDim)
                : RopeScaling.Yarn.magnitude(factor, 1);
        return new RopeScaling.Yarn(
                factor,
                original,
                entries.number("beta_fast", 32),
                entries.number("beta_slow", 1),
                entries.number("attention_factor", inferred),
                entries.flag("truncate", true));
    }

    private RopeScaling longRope(RopeDictionary entries) {
        long original = Checks.atLeast(originalContext(entries), 2, "original_max_position_embeddings");
        double factor = entries.number("factor", (double) maxPositions / original);
        double stretch = factor <= 1 ? 0 : StrictMath.log(factor) / StrictMath.log(original);
        return new RopeScaling.LongRope(
                entries.numbers("short_factor"),
                entries.numbers("long_factor"),
                original,
                context,
                entries.number("attention_factor", StrictMath.sqrt(1 + stretch)));
    }

    /**
     * Returns the number in the dictionary or in the file, which must not contradict each other, or {@code maxPositions} if neither has one.
     */
    private long originalContext(RopeDictionary entries) {
        long outside = originalMaxPositions == 0 ? maxPositions : originalMaxPositions;
        long original = entries.integer("original_max_position_embeddings", outside);
        if (originalMaxPositions != 0 && original != originalMaxPositions) {
            throw Checks.fail(
                    "original_max_position_embeddings",
                    String.valueOf(original),
                    "expected " + originalMaxPositions + ", as outside the dictionary");
        }
        return original;
    }

    private static double requireFraction(double fraction, String argument) {
        if (!(fraction > 0 && fraction <= 1)) {
            throw Checks.fail(argument, String.valueOf(fraction), "expected a number above 0 and at most 1");
        }
        return fraction;
    }
}
