package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.List;

/** The tokens that a grammar allows in one text. */
final class GrammarFilter implements TokenFilter {
    private final TokenVocabulary vocabulary;
    private final Configurations configurations;
    /** The configurations of the text before each token and after the last one. */
    private final List<Configuration> path;
    /** The number of accepted tokens beginning with the token that ended the text. */
    private int ended;

    GrammarFilter(TokenVocabulary vocabulary, Configurations configurations) {
        this(vocabulary, configurations, List.of(configurations.start()), 0);
    }

    private GrammarFilter(
            TokenVocabulary vocabulary, Configurations configurations, List<Configuration> path, int ended) {
        this.vocabulary = vocabulary;
        this.configurations = configurations;
        this.path = new ArrayList<>(path);
        this.ended = ended;
    }

    private Configuration at() {
        return path.get(path.size() - 1);
    }

    @Override
    public void restrict(TokenMask mask) {
        if (ended > 0) {
            mask.forbidAll();
            return;
        }
        Configuration at = at();
        TokenMask text = configurations.mask(at);
        if (!at.end) {
            mask.retain(text);
            return;
        }
        List<Integer> stopTokens = new ArrayList<>();
        for (int stop : vocabulary.tokenizer().specialIds().stopTokens()) {
            if (mask.allows(stop)) {
                stopTokens.add(stop);
            }
        }
        mask.retain(text);
        stopTokens.forEach(mask::allow);
    }

    @Override
    public void accept(int token) {
        Checks.index(token, vocabulary.size(), "token");
        boolean stop = vocabulary.tokenizer().isStopToken(token);
        if (stop && at().end && ended == 0) {
            ended = 1;
            path.add(at());
            return;
        }
        Configuration to = configurations.after(at(), token);
        if (stop || ended > 0 || to.isDead()) {
            String name = vocabulary.tokenizer().token(token);
            throw Checks.fail("token", token + " (" + name + ")", "expected a token that the grammar allows");
        }
        path.add(to);
    }

    @Override
    public void rollBack(int tokens) {
        Checks.index(tokens, path.size(), "tokens");
        path.subList(path.size() - tokens, path.size()).clear();
        ended = tokens > 0 ? 0 : ended;
    }

    @Override
    public TokenFilter fork() {
        return new GrammarFilter(vocabulary, configurations, path, ended);
    }
}
