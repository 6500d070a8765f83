package io.multihead.internal.template;

import io.multihead.internal.base.Checks;
import io.multihead.text.PromptText;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Map;

/** A chat template: a program in the part of Jinja that published templates use. Immutable and thread-safe. */
public final class Template {
    private final List<Statement> statements;

    private Template(List<Statement> statements) {
        this.statements = statements;
    }

    /**
     * Reads a template.
     *
     * @throws IllegalArgumentException if the template is malformed or needs a feature that is not implemented; the message has
     * the line
     */
    public static Template parse(String jinja) {
        return new Template(Parser.parse(Checks.notNull(jinja, "jinja")));
    }

    /** Fails unless a value is of a type that templates support. */
    public static void requireValue(Object value) {
        try {
            Values.of(value);
        } catch (Fault fault) {
            throw new IllegalArgumentException(fault.getMessage(), fault);
        }
    }

    /** Returns a value with elements that a template can read one by one, but neither print nor concatenate. */
    public static Object elements(List<?> values) {
        return Items.view(((Items) Values.of(values)).elements());
    }

    /**
     * Renders the template.
     *
     * @param variables values of JSON's types, by name: strings are content, and {@link PromptText} carries its own marks
     * @param time the template's time
     * @throws RaisedException if the template raises an exception
     * @throws IllegalArgumentException if the template cannot use the variables, or exceeds {@link Budget}; the message has the
     * line
     */
    public PromptText render(Map<String, ?> variables, LocalDateTime time) {
        Interpreter interpreter = new Interpreter();
        Scope globals = new Scope(null);
        new Functions(interpreter.budget(), time).define(globals);
        variables.forEach((name, value) -> globals.set(name, Values.of(value)));
        return interpreter.run(statements, new Scope(globals));
    }
}
