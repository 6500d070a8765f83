package io.multihead.grammar;

/**
 * The parts that all rules of JSON share: the machine, its strings, and the rule of white space.
 *
 * @param space the state at which white space begins: nothing, a space, or a line feed with an indentation of at most
 *     {@link #MOST_INDENT} spaces
 */
record JsonSpace(Machine machine, JsonStrings strings, int space) {
    static final int MOST_INDENT = 20;

    static JsonSpace in(Machine machine) {
        int space = machine.state();
        machine.setEnd(space);
        int end = machine.state();
        machine.setEnd(end);
        machine.read(space, ' ', ' ', end);
        int at = machine.state();
        machine.read(space, '\n', '\n', at);
        machine.setEnd(at);
        for (int i = 0; i < MOST_INDENT; i++) {
            int next = machine.state();
            machine.read(at, ' ', ' ', next);
            machine.setEnd(next);
            at = next;
        }
        return new JsonSpace(machine, new JsonStrings(machine), space);
    }
}
