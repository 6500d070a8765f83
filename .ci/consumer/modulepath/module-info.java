module consumer {
    requires io.multihead;
}
