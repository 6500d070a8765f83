package io.multihead.demo.serve;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.multihead.decoder.GeneratedToken;
import io.multihead.decoder.TokenProbability;
import io.multihead.text.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The {@code logprobs} of answers: for chats, with bytes, and for completions, with lists. */
record TokenProbabilities(Tokenizer tokenizer) {
    ObjectNode of(List<GeneratedToken> tokens, boolean isChat) {
        return isChat ? ofChat(tokens) : ofCompletion(tokens);
    }

    private ObjectNode ofChat(List<GeneratedToken> tokens) {
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        ArrayNode content = root.putArray("content");
        for (GeneratedToken token : tokens) {
            ObjectNode node = token(token.id(), token.logProbability());
            ArrayNode top = node.putArray("top_logprobs");
            for (TokenProbability other : token.mostProbable()) {
                top.add(token(other.id(), other.logProbability()));
            }
            content.add(node);
        }
        return root;
    }

    private ObjectNode token(int id, double logProbability) {
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        node.put("token", text(id)).put("logprob", logProbability);
        if (tokenizer.isControl(id)) {
            return node.putNull("bytes");
        }
        ArrayNode bytes = node.putArray("bytes");
        for (byte each : tokenizer.pieceBytes(id)) {
            bytes.add(each & 0xff);
        }
        return node;
    }

    private ObjectNode ofCompletion(List<GeneratedToken> tokens) {
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        ArrayNode names = root.putArray("tokens");
        ArrayNode own = root.putArray("token_logprobs");
        ArrayNode top = root.putArray("top_logprobs");
        for (GeneratedToken token : tokens) {
            names.add(text(token.id()));
            own.add(token.logProbability());
            ObjectNode others = top.addObject();
            for (TokenProbability other : token.mostProbable()) {
                others.put(text(other.id()), other.logProbability());
            }
        }
        return root;
    }

    private String text(int id) {
        return tokenizer.isControl(id)
                ? tokenizer.token(id)
                : new String(tokenizer.pieceBytes(id), StandardCharsets.UTF_8);
    }
}
