package io.multihead.internal.template;

import io.multihead.internal.template.Statement.Branch;
import io.multihead.internal.template.Statement.Parameter;
import io.multihead.internal.template.Statement.Target;
import io.multihead.internal.template.Token.Kind;
import io.multihead.text.PromptText;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads the statements of a template, and refuses features that are not implemented. */
final class Parser {
    private static final int DEEPEST = 60;

    private final TokenReader tokens;
    private final ExpressionParser expressions;
    /** Names to which the template assigns values. */
    private final Set<String> assigned = new HashSet<>();

    private int depth;
    private int loops;

    private Parser(TokenReader tokens) {
        this.tokens = tokens;
        expressions = new ExpressionParser(tokens);
    }

    /** Returns the statements of a template, or fails with an error that names the line. */
    static List<Statement> parse(String source) {
        Parser parser = new Parser(new TokenReader(Lexer.tokens(source)));
        List<Statement> all = parser.body(Set.of());
        for (Map.Entry<String, Integer> call : parser.expressions.called().entrySet()) {
            if (!Signature.FUNCTIONS.containsKey(call.getKey()) && !parser.assigned.contains(call.getKey())) {
                throw new Fault("function " + call.getKey() + " is not implemented").at(call.getValue());
            }
        }
        return all;
    }

    /**
     * Reads statements up to a tag with one of some names, which is not consumed, or up to the end of the template if there are
     * no names.
     */
    private List<Statement> body(Set<String> ends) {
        if (++depth > DEEPEST) {
            throw tokens.fail("statements nested deeper than " + DEEPEST);
        }
        List<Statement> statements = new ArrayList<>();
        while (true) {
            Token token = tokens.next();
            switch (token.kind()) {
                case TEXT -> statements.add(new Statement.Text(PromptText.template(token.text()), token.line()));
                case PRINT_BEGIN -> {
                    statements.add(new Statement.Print(expressions.tuple(true), token.line()));
                    tokens.expect(Kind.PRINT_END, "}}");
                }
                case STATEMENT_BEGIN -> {
                    if (tokens.isKind(Kind.NAME) && ends.contains(tokens.peek().text())) {
                        depth--;
                        return statements;
                    }
                    statements.add(statement(token.line()));
                }
                default -> {
                    if (!ends.isEmpty()) {
                        throw new Fault("the template ends; expected " + String.join(" or ", ends)).at(token.line());
                    }
                    depth--;
                    return statements;
                }
            }
        }
    }

    private Statement statement(int line) {
        String name = tokens.name();
        return switch (name) {
            case "if" -> branches(line);
            case "for" -> loop(line);
            case "set" -> set(line);
            case "macro" -> macro(line);
            case "filter" -> {
                List<Expression.Use> filters = new ArrayList<>(List.of(expressions.filter()));
                addFilters(filters);
                yield new Statement.Scoped(filters, apart("endfilter"), line);
            }
            case "generation" -> new Statement.Scoped(List.of(), apart("endgeneration"), line);
            case "break", "continue" -> {
                if (loops == 0) {
                    throw new Fault(name + " outside of a loop").at(line);
                }
                end();
                yield new Statement.Jump(name.equals("break"), line);
            }
            default -> throw new Fault("statement " + name + " is not implemented").at(line);
        };
    }

    private void end() {
        tokens.expect(Kind.STATEMENT_END, "%}");
    }

    /** Reads the end of a tag, a body up to a name, and the end of its tag. */
    private List<Statement> block(String name) {
        end();
        List<Statement> body = body(Set.of(name));
        tokens.next();
        end();
        return body;
    }

    /** Reads a block that does not end a surrounding loop. */
    private List<Statement> apart(String name) {
        int outer = loops;
        loops = 0;
        List<Statement> body = block(name);
        loops = outer;
        return body;
    }

    private void addFilters(List<Expression.Use> to) {
        while (tokens.skip("|")) {
            to.add(expressions.filter());
        }
    }

    private Statement branches(int line) {
        List<Branch> branches = new ArrayList<>();
        List<Statement> otherwise = List.of();
        String next;
        do {
            Expression test = expressions.tuple(false);
            end();
            branches.add(new Branch(test, body(Set.of("elif", "else", "endif"))));
            next = tokens.name();
        } while (next.equals("elif"));
        if (next.equals("else")) {
            otherwise = block("endif");
        } else {
            end();
        }
        return new Statement.If(branches, otherwise, line);
    }

    private Statement loop(int line) {
        List<Target> targets = targets(false);
        tokens.expectName("in");
        Expression elements = expressions.tuple(false);
        Expression filter = tokens.skipName("if") ? expressions.expression() : null;
        if (tokens.isName("recursive")) {
            throw tokens.fail("a recursive loop is not implemented");
        }
        end();
        loops++;
        List<Statement> body = body(Set.of("else", "endfor"));
        loops--;
        List<Statement> otherwise = List.of();
        if (tokens.name().equals("else")) {
            otherwise = block("endfor");
        } else {
            end();
        }
        return new Statement.For(targets, elements, filter, body, otherwise, line);
    }

    private List<Target> targets(boolean attributes) {
        boolean parenthesis = tokens.skip("(");
        List<Target> targets = new ArrayList<>();
        do {
            String name = tokens.name();
            if (attributes && tokens.skip(".")) {
                targets.add(new Target(name, tokens.name()));
            } else {
                assigned.add(name);
                targets.add(new Target(name, null));
            }
        } while (tokens.skip(",") && !tokens.isOperator(")"));
        if (parenthesis) {
            tokens.expect(")");
        }
        return targets;
    }

    private Statement set(int line) {
        List<Target> targets = targets(true);
        if (tokens.skip("=")) {
            Expression value = expressions.tuple(true);
            end();
            return new Statement.Set(targets, value, line);
        }
        if (targets.size() > 1) {
            throw tokens.fail("several targets of a block; expected one");
        }
        List<Expression.Use> filters = new ArrayList<>();
        addFilters(filters);
        return new Statement.SetBlock(targets.getFirst(), filters, apart("endset"), line);
    }

    private Statement macro(int line) {
        String name = tokens.name();
        assigned.add(name);
        tokens.expect("(");
        List<Parameter> parameters = new ArrayList<>();
        while (!tokens.skip(")")) {
            String parameter = tokens.name();
            parameters.add(new Parameter(parameter, tokens.skip("=") ? expressions.expression() : null));
            if (!tokens.isOperator(")")) {
                tokens.expect(",");
            }
        }
        return new Statement.Macro(name, parameters, apart("endmacro"), line);
    }
}
