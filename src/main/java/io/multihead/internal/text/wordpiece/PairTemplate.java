package io.multihead.internal.text.wordpiece;

import io.multihead.internal.base.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * The template that makes one sequence of two texts: the first token, the first text, the last token once or several times, the second
 * text, and the last token.
 *
 * @param separators the number of times that the last token stands between the texts; 0 for another template
 * @param secondType token type of the second text and of the token after it
 */
public record PairTemplate(int separators, int secondType) {
    /** The template of BERT's tokenizers. */
    public static final PairTemplate BERT = new PairTemplate(1, 1);

    /** The template of RoBERTa and XLM-R. */
    public static final PairTemplate ROBERTA = new PairTemplate(2, 0);

    /** Any other template. */
    public static final PairTemplate OTHER = new PairTemplate(0, 0);

    /**
     * Returns this template for a {@code tokenizer_config.json}, which may state that models get no token types. In this case all
     * types are 0.
     */
    public PairTemplate with(@Nullable JsonObject config) {
        boolean typed = config == null
                || !config.has("model_input_names")
                || config.array("model_input_names").contains("token_type_ids");
        return typed ? this : new PairTemplate(separators, 0);
    }
}
