package io.multihead.internal.template;

import io.multihead.text.PromptText;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A statement, which writes text or sets variables. */
sealed interface Statement {
    /** {@return the line where the statement begins} */
    int line();

    /**
     * The target of an assignment.
     *
     * @param name a variable
     * @param attribute the attribute of the namespace in it, or null for the variable itself
     */
    record Target(String name, @Nullable String attribute) {}

    /** Text outside tags. */
    record Text(PromptText text, int line) implements Statement {}

    /** {@code {{ value }}}. */
    record Print(Expression value, int line) implements Statement {}

    /**
     * A condition and its statements.
     *
     * @param test the condition
     * @param body statements
     */
    record Branch(Expression test, List<Statement> body) {}

    /** {@code if}, {@code elif} and {@code else}. */
    record If(List<Branch> branches, List<Statement> otherwise, int line) implements Statement {}

    /** {@code for}. If there are several targets, they receive the parts of each element. */
    record For(
            List<Target> targets,
            Expression elements,
            @Nullable Expression filter,
            List<Statement> body,
            List<Statement> otherwise,
            int line)
            implements Statement {}

    /** {@code set} with a value; several targets receive its elements. */
    record Set(List<Target> targets, Expression value, int line) implements Statement {}

    /** {@code set} of the text of a body. */
    record SetBlock(Target target, List<Expression.Use> filters, List<Statement> body, int line) implements Statement {}

    /**
     * A parameter of a macro.
     *
     * @param name the name of the parameter
     * @param otherwise its default value, or null for none
     */
    record Parameter(String name, @Nullable Expression otherwise) {}

    /** {@code macro}. */
    record Macro(String name, List<Parameter> parameters, List<Statement> body, int line) implements Statement {}

    /** A body with its own variables: {@code generation}, and {@code filter} with filters. */
    record Scoped(List<Expression.Use> filters, List<Statement> body, int line) implements Statement {}

    /** {@code break} if {@code ends}, otherwise {@code continue}. */
    record Jump(boolean ends, int line) implements Statement {}
}
