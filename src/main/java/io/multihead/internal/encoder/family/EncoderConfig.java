package io.multihead.internal.encoder.family;

import io.multihead.internal.encoder.layer.ClassificationHead;
import io.multihead.internal.load.Weights;
import io.multihead.model.Norm;
import io.multihead.model.Transformer;
import io.multihead.tensor.Tensor;
import java.util.Map;

/**
 * The configuration of an encoder: its sizes, and how its family makes a model of weights. A family is one implementation, which has its members
 * of {@code config.json} and the names of its weights. Immutable.
 */
public interface EncoderConfig {
    /** Tokens of a batch: enough for the products, and few enough that its activations stay in the cache. */
    int BATCH_TOKENS = 512;

    /**
     * Returns whether a token's state is a row of a table, whatever its sequence has beside it: then texts have no tokens around them and may
     * be divided anywhere, and their vectors are means.
     */
    default boolean isStatic() {
        return false;
    }

    /** Returns the elements of a token's vector. */
    int dim();

    /** Returns the number of blocks. */
    int layers();

    /** Returns the attention heads of a block. */
    int heads();

    /** Returns the rows of the table of words. */
    int vocabulary();

    /** Returns the most tokens of one sequence. */
    int positions();

    /** Returns how many types tokens may have: 1 where there is no table of types. */
    default int types() {
        return 1;
    }

    /** Returns how many types tell two texts apart: 1 where nothing but the tokens between them does. */
    default int pairTypes() {
        return 1;
    }

    /** Returns the names of a checkpoint's weights, with a head that classifies sequences or without. */
    EncoderNames names(boolean classifies);

    /** Takes the encoder's weights and returns the model, whose states are vectors of tokens as they are. */
    Transformer model(Weights weights);

    /** Takes the weights of the head that gives each sequence a number for each label. */
    ClassificationHead head(Weights weights, int labels);

    /** Takes a layer normalization. */
    static Norm norm(Weights weights, String name, int dim, double epsilon, boolean hasBias) {
        Tensor weight = weights.numbers(name + ".weight", dim);
        return Norm.layer(weight, hasBias ? weights.numbers(name + ".bias", dim) : null, epsilon);
    }

    /** Returns the settings as a {@code config.json} that the family reads. */
    Map<String, Object> toJson();
}
