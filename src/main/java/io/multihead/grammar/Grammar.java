package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The texts that a model may write: JSON by a schema, or a grammar in the notation of llama.cpp (GBNF). A text of which a token is chosen
 * can always be ended; a token after which it could not is not allowed, and one that ends the text only where the text is complete. A
 * text that {@code maxTokens} truncates is incomplete, as its finish reason tells.
 *
 * <p>The factories compile grammars and refuse unsupported constructs; nothing is approximated. Immutable and thread-safe. All texts of a grammar
 * share computed masks of tokens, within some megabytes.
 */
public final class Grammar implements TokenConstraint {
    /** Larger grammars take more memory than a text is worth. */
    private static final int MOST_MOVES = 500_000;

    /** Vocabularies whose masks are kept. */
    private static final int MOST_VOCABULARIES = 4;

    private record Known(TokenVocabulary vocabulary, Configurations configurations) {}

    private final Machine machine;
    private final int start;
    private final List<Known> known = new ArrayList<>();

    private Grammar(Machine machine, int start) {
        this.machine = machine;
        this.start = start;
        MachineChecks.run(machine, start);
    }

    /**
     * Compiles a JSON schema, draft 2020-12. Properties are written in the order of the schema. Where it describes properties and not
     * {@code additionalProperties}, no others are written.
     *
     * @param schema the schema as JSON
     * @return the grammar of its values
     * @throws IllegalArgumentException if the text is no schema, has an unsupported keyword, whose JSON pointer the message has, or no value is valid
     *     by it
     */
    public static Grammar ofJsonSchema(String schema) {
        byte[] bytes = Checks.notNull(schema, "schema").getBytes(StandardCharsets.UTF_8);
        Machine machine = new Machine(MOST_MOVES);
        return new Grammar(machine, SchemaCompiler.compile(machine, SchemaNode.of("#", Json.exact("schema", bytes))));
    }

    /**
     * Compiles a grammar in GBNF, whose first rule is {@code root}.
     *
     * @param text the rules
     * @return the grammar
     * @throws IllegalArgumentException if the text is no grammar, a rule begins with itself, or no text can end
     */
    public static Grammar ofGbnf(String text) {
        return ofGbnf(text, Map.of(), Map.of());
    }

    /**
     * Compiles a grammar in GBNF whose rules may name JSON schemas and control tokens.
     *
     * @param text the rules, of which {@code root} is one
     * @param schemas JSON schemas by the names of rules, as {@link #ofJsonSchema} takes them
     * @param tokens names of control tokens, such as {@code [TOOL_CALLS]}, by the names of rules. In a vocabulary without such a control token the
     *     rule is the name's characters
     * @return the grammar
     * @throws IllegalArgumentException as {@link #ofGbnf(String)} and {@link #ofJsonSchema} do, or if two rules have the same name
     */
    public static Grammar ofGbnf(String text, Map<String, String> schemas, Map<String, String> tokens) {
        Machine machine = new Machine(MOST_MOVES);
        Checks.notNull(schemas, "schemas")
                .forEach((name, schema) -> Checks.notNull(schema, "schemas." + Checks.notNull(name, "schemas")));
        Checks.notNull(tokens, "tokens")
                .forEach((name, token) -> Checks.notNull(token, "tokens." + Checks.notNull(name, "tokens")));
        return new Grammar(machine, Gbnf.compile(machine, Checks.notNull(text, "text"), schemas, tokens));
    }

    @Override
    public TokenFilter begin(TokenVocabulary vocabulary) {
        return new GrammarFilter(vocabulary, configurations(Checks.notNull(vocabulary, "vocabulary")));
    }

    private synchronized Configurations configurations(TokenVocabulary vocabulary) {
        for (Known one : known) {
            if (one.vocabulary == vocabulary) {
                return one.configurations;
            }
        }
        if (known.size() == MOST_VOCABULARIES) {
            known.remove(0);
        }
        Configurations made = new Configurations(machine, start, vocabulary);
        known.add(new Known(vocabulary, made));
        return made;
    }

    /** Returns the number of states, for studies of size. */
    int states() {
        return machine.states();
    }

    /** Returns the number of moves, of which each takes 16 bytes, as a state takes 9. */
    int moves() {
        return machine.moves();
    }
}
