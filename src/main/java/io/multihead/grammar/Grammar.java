package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The texts that a model may write: JSON that conforms to a schema, or a grammar in the notation of llama.cpp (GBNF). A token is allowed
 * only if the text can still be completed after it. An end token is allowed only if the text is complete. A text that {@code maxTokens}
 * truncates is incomplete, and has the finish reason of this limit.
 *
 * <p>The factories compile grammars exactly, and refuse unsupported constructs. Immutable and thread-safe. All texts of a grammar share
 * computed masks of tokens, within a few megabytes.
 */
public final class Grammar implements TokenConstraint {
    /** The largest number of states and the largest number of moves. Larger grammars would take too much memory. */
    private static final int MOST_MOVES = 500_000;

    /** The largest number of vocabularies whose masks are kept. */
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
     * Compiles a JSON schema, draft 2020-12. Properties are written in the order of the schema. If a schema describes properties but not
     * {@code additionalProperties}, no other properties are written.
     *
     * @param schema the schema as JSON
     * @return the grammar of the values that are valid against the schema
     * @throws IllegalArgumentException if the text is not a schema, has an unsupported keyword (the message contains its JSON pointer), or
     *     no value is valid against it
     */
    public static Grammar ofJsonSchema(String schema) {
        SchemaNode root = SchemaNode.root(Checks.notNull(schema, "schema"));
        Machine machine = new Machine(MOST_MOVES);
        return new Grammar(machine, SchemaCompiler.compile(new JsonStrings(machine), "", root));
    }

    /**
     * Compiles a grammar in GBNF, whose first rule is {@code root}.
     *
     * @param text the rules
     * @return the grammar
     * @throws IllegalArgumentException if the text is not a grammar, a rule begins with itself, or no text can
     *     end
     */
    public static Grammar ofGbnf(String text) {
        return ofGbnf(text, Map.of(), Map.of());
    }

    /**
     * Compiles a grammar in GBNF whose rules may name JSON schemas and control tokens.
     *
     * @param text the rules, including {@code root}
     * @param schemas JSON schemas by the names of rules, as for {@link #ofJsonSchema}
     * @param tokens names of control tokens, such as {@code [TOOL_CALLS]}, by the names of rules. In a vocabulary without such a control token,
     *     the rule matches the characters of the name
     * @return the grammar
     * @throws IllegalArgumentException as {@link #ofGbnf(String)} and {@link #ofJsonSchema} throw it, or if two rules have the same name
     */
    public static Grammar ofGbnf(String text, Map<String, String> schemas, Map<String, String> tokens) {
        return ofGbnf(text, schemas, tokens, Map.of());
    }

    /**
     * Compiles a grammar in GBNF whose schemas may describe another notation than JSON: the notation in which Gemma's chat templates write
     * the arguments of a call. A string is between two equal marks, has no escapes, and never contains the mark. Names of properties have
     * no marks, are sorted without regard to case, and have no white space, colon, comma, <code>}</code> and {@code <}. Values have no
     * white space outside strings. Null may also be written as {@code None}, as in Python.
     *
     * @param text as in {@link #ofGbnf(String, Map, Map)}
     * @param schemas as in {@link #ofGbnf(String, Map, Map)}
     * @param tokens as in {@link #ofGbnf(String, Map, Map)}
     * @param stringMarks the marks of strings, by the names of the rules whose schemas use this notation; a mark is a control token if the
     *     vocabulary has this token
     * @return the grammar
     * @throws IllegalArgumentException as {@link #ofGbnf(String, Map, Map)} throws it, or if no schema has the name of a mark, a mark is
     *     empty, a string of a schema contains the mark, or the name of a property cannot be written
     */
    public static Grammar ofGbnf(
            String text, Map<String, String> schemas, Map<String, String> tokens, Map<String, String> stringMarks) {
        requireTexts(schemas, "schemas");
        requireTexts(tokens, "tokens");
        requireTexts(stringMarks, "stringMarks");
        stringMarks.forEach((name, mark) -> {
            if (!schemas.containsKey(name) || mark.isEmpty()) {
                throw Checks.fail("stringMarks." + name, mark, "expected the name of a schema, and characters");
            }
        });
        Machine machine = new Machine(MOST_MOVES);
        Gbnf.Sources sources = new Gbnf.Sources(schemas, tokens, stringMarks);
        return new Grammar(machine, Gbnf.compile(machine, Checks.notNull(text, "text"), sources));
    }

    private static void requireTexts(Map<String, String> texts, String argument) {
        Checks.notNull(texts, argument)
                .forEach((name, text) -> Checks.notNull(text, argument + "." + Checks.notNull(name, argument)));
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

    /** Returns the number of moves. A move takes 16 bytes, and a state takes 9 bytes. */
    int moves() {
        return machine.moves();
    }
}
