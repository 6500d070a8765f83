/**
 * Conversion of text to token ids: tokenizers of encoders such as BERT and XLM-R ({@link io.multihead.text.EncoderTokenizer}), and of
 * language models ({@link io.multihead.text.Tokenizer}).
 */
@NullMarked
package io.multihead.text;

import org.jspecify.annotations.NullMarked;
