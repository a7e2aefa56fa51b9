/* tests/abi/plugins/no_symbol.c: a shared object, but no plugin. */
extern __attribute__((visibility("default"))) int something_else(void);
int something_else(void) { return 0; }
