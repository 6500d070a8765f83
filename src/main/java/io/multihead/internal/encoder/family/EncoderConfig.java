package io.multihead.internal.encoder.family;

import io.multihead.internal.encoder.layer.ClassificationHead;
import io.multihead.internal.load.Weights;
import io.multihead.model.Norm;
import io.multihead.model.Transformer;
import io.multihead.tensor.Tensor;
import java.util.Map;

/**
 * The configuration of an encoder: its sizes, and the method by which its family makes a model from weights. A family is one
 * implementation, which defines its members of {@code config.json} and the names of its weights. Immutable.
 */
public interface EncoderConfig {
    /** The number of tokens of a batch: large enough for fast products, and small enough to keep the activations in the cache. */
    int BATCH_TOKENS = 512;

    /**
     * Returns whether a token's state is a row of a table, independent of its sequence. Then texts have no special tokens around them, may be
     * divided at any token, and have means as vectors.
     */
    default boolean isStatic() {
        return false;
    }

    /** Returns the number of elements of a token's vector. */
    int dim();

    /** Returns the number of blocks. */
    int layers();

    /** Returns the number of attention heads of a block. */
    int heads();

    /** Returns the number of rows of the word embedding table. */
    int vocabulary();

    /** Returns the largest number of tokens of one sequence. */
    int positions();

    /** Returns the number of types that tokens may have: 1 if there is no table of types. */
    default int types() {
        return 1;
    }

    /** Returns the number of token types that a pair of texts needs: 1 if only the tokens between the texts separate them. */
    default int pairTypes() {
        return 1;
    }

    /** Returns the names of a checkpoint's weights, with or without a head that classifies sequences. */
    EncoderNames names(boolean classifies);

    /** Takes the encoder's weights and returns the model, whose states are the unchanged vectors of tokens. */
    Transformer model(Weights weights);

    /** Takes the weights of the head, which computes a number for each label of a sequence. */
    ClassificationHead head(Weights weights, int labels);

    /** Takes a layer normalization. */
    static Norm norm(Weights weights, String name, int dim, double epsilon, boolean hasBias) {
        Tensor weight = weights.numbers(name + ".weight", dim);
        return Norm.layer(weight, hasBias ? weights.numbers(name + ".bias", dim) : null, epsilon);
    }

    /** Returns the settings as a {@code config.json} that the family reads. */
    Map<String, Object> toJson();
}
