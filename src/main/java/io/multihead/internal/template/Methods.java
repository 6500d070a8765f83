package io.multihead.internal.template;

import io.multihead.text.PromptText;
import java.util.List;
import java.util.function.IntPredicate;

/** Methods of texts, mappings and lists. */
final class Methods {
    private final Budget budget;

    Methods(Budget budget) {
        this.budget = budget;
    }

    /** Calls a method of a value; arguments are bound. */
    Object call(Object target, String name, List<Object> arguments) {
        return switch (target) {
            case PromptText text -> ofText(text, name, arguments);
            case Dict dict -> ofDict(dict, name, arguments);
            case Items items when items.isSequence() -> ofList(items, name, arguments);
            case Undefined undefined -> throw undefined.fault();
            default -> throw none(target, name);
        };
    }

    private static Fault none(Object target, String name) {
        return new Fault(Values.type(target) + " has no method " + name);
    }

    private Object ofText(PromptText text, String name, List<Object> arguments) {
        String chars = text.toString();
        budget.takeCharacters(chars.length());
        return switch (name) {
            case "strip" -> Texts.strip(text, characters(arguments), true, true);
            case "lstrip" -> Texts.strip(text, characters(arguments), true, false);
            case "rstrip" -> Texts.strip(text, characters(arguments), false, true);
            case "upper" -> Texts.upper(text);
            case "lower" -> Texts.lower(text);
            case "capitalize" -> Texts.capitalize(text);
            case "title" -> Texts.title(text, c -> Character.isLetter(c) ? 1 : 0);
            case "split", "rsplit" -> split(text, name, arguments);
            case "splitlines" ->
                Items.list(Texts.lines(text, isGiven(arguments.get(0)) && Values.isTrue(arguments.get(0))));
            case "startswith" -> matches(arguments.get(0), chars::startsWith);
            case "endswith" -> matches(arguments.get(0), chars::endsWith);
            case "removeprefix" -> {
                String prefix = text(arguments.get(0)).toString();
                yield text.substring(chars.startsWith(prefix) ? prefix.length() : 0, chars.length());
            }
            case "removesuffix" -> {
                String suffix = text(arguments.get(0)).toString();
                yield text.substring(0, chars.endsWith(suffix) ? chars.length() - suffix.length() : chars.length());
            }
            case "replace" ->
                Texts.replace(text, text(arguments.get(0)), text(arguments.get(1)), count(arguments.get(2)), budget);
            case "find", "index" -> {
                int at = chars.indexOf(text(arguments.get(0)).toString());
                if (at < 0 && name.equals("index")) {
                    throw new Fault("index of a part that a string has not");
                }
                yield (long) (at < 0 ? -1 : chars.codePointCount(0, at));
            }
            case "count" -> occurrences(chars, text(arguments.get(0)).toString());
            case "join" -> Texts.join(requireTexts(Values.elements(arguments.get(0))), text, budget);
            case "isdigit" -> all(chars, Character::isDigit);
            case "isalpha" -> all(chars, Character::isLetter);
            case "isalnum" -> all(chars, Character::isLetterOrDigit);
            case "isspace" -> all(chars, c -> Python.isSpace((char) c));
            default -> throw none(text, name);
        };
    }

    private static List<Object> requireTexts(List<Object> elements) {
        elements.forEach(Methods::text);
        return elements;
    }

    private static boolean all(String chars, IntPredicate test) {
        return !chars.isEmpty() && chars.codePoints().allMatch(test);
    }

    private static long occurrences(String chars, String part) {
        if (part.isEmpty()) {
            return chars.codePointCount(0, chars.length()) + 1L;
        }
        long count = 0;
        for (int at = chars.indexOf(part); at >= 0; at = chars.indexOf(part, at + part.length())) {
            count++;
        }
        return count;
    }

    private static boolean matches(Object argument, java.util.function.Predicate<String> test) {
        return argument instanceof Items items && items.kind() == Items.Kind.TUPLE
                ? items.elements().stream()
                        .anyMatch(each -> test.test(text(each).toString()))
                : test.test(text(argument).toString());
    }

    private Object split(PromptText text, String name, List<Object> arguments) {
        long most = count(arguments.get(1));
        boolean last = name.equals("rsplit");
        List<Object> parts;
        if (isGiven(arguments.get(0))) {
            parts = Texts.split(text, text(arguments.get(0)), most, last);
        } else if (last && most >= 0) {
            throw new Fault("rsplit at white space with a number is not implemented");
        } else {
            parts = Texts.splitAtSpace(text, most);
        }
        budget.take(parts.size());
        return Items.list(parts);
    }

    /** Returns a count, negative for no limit. */
    static long count(Object argument) {
        return isGiven(argument) ? whole(argument) : -1;
    }

    private static @org.jspecify.annotations.Nullable String characters(List<Object> arguments) {
        return isGiven(arguments.get(0)) ? text(arguments.get(0)).toString() : null;
    }

    static boolean isGiven(Object argument) {
        return !(argument instanceof Special);
    }

    static PromptText text(Object argument) {
        return switch (argument) {
            case PromptText text -> text;
            case Undefined undefined -> throw undefined.fault();
            default -> throw new Fault(Values.type(argument) + "; expected a string");
        };
    }

    static long whole(Object argument) {
        return switch (argument) {
            case Long number -> number;
            case Boolean flag -> Values.whole(flag);
            case Undefined undefined -> throw undefined.fault();
            default -> throw new Fault(Values.type(argument) + "; expected an integer");
        };
    }

    private Object ofDict(Dict dict, String name, List<Object> arguments) {
        budget.take(dict.size());
        return switch (name) {
            case "get" -> {
                Object value = arguments.get(0) instanceof PromptText key ? dict.find(key.toString()) : null;
                Object otherwise = arguments.get(1) == Special.ABSENT ? Special.NONE : arguments.get(1);
                yield value == null ? otherwise : value;
            }
            case "items" -> Items.view(dict.items());
            case "keys" -> Items.view(dict.keys());
            case "values" -> Items.view(dict.values());
            case "copy" -> dict;
            default -> throw none(dict, name);
        };
    }

    private Object ofList(Items items, String name, List<Object> arguments) {
        List<Object> elements = items.elements();
        budget.take(elements.size());
        return switch (name) {
            case "copy" -> items;
            case "count" ->
                elements.stream()
                        .filter(each -> Values.same(each, arguments.get(0), budget))
                        .count();
            case "index" -> {
                for (int i = 0; i < elements.size(); i++) {
                    if (Values.same(elements.get(i), arguments.get(0), budget)) {
                        yield (long) i;
                    }
                }
                throw new Fault("index of an element that a list has not");
            }
            default -> throw none(items, name);
        };
    }
}
