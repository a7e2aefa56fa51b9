/* tests/litmus/shapes.h: the steps and outcomes that shapes.def names.
 * Words are as in the list of litmus tests: x@k is the copy on PE k, all start at 0. */
#ifndef LITMUS_SHAPES_H
#define LITMUS_SHAPES_H

#include "engine.h"

/* mp.c: payload and flags. The first register is how many words of the payload were old. */
void lit_mp(struct lit_round *r, int me);
void lit_mp_two_contexts(struct lit_round *r, int me);
void lit_mp_signal(struct lit_round *r, int me);
void lit_mp_signal_other(struct lit_round *r, int me);
void lit_wrc_wait(struct lit_round *r, int me);
void lit_lc_source(struct lit_round *r, int me);
bool lit_stale(uint64_t (*seen)[LIT_REGISTERS]);

/* words.c: words that are raced for. */
void lit_mp_fetch(struct lit_round *r, int me);
void lit_mp_read(struct lit_round *r, int me);
uint64_t lit_read_g(const struct lit_round *r, const uint64_t *word);
uint64_t lit_read_get(const struct lit_round *r, const uint64_t *word);
uint64_t lit_read_nbi(const struct lit_round *r, const uint64_t *word);
void lit_corr(struct lit_round *r, int me);
bool lit_one_then_zero(uint64_t (*seen)[LIT_REGISTERS]);
void lit_fadd(struct lit_round *r, int me);
bool lit_not_growing(uint64_t (*seen)[LIT_REGISTERS]);
void lit_sb(struct lit_round *r, int me);
void lit_sb_p(struct lit_round *r, int me);
bool lit_both_zero(uint64_t (*seen)[LIT_REGISTERS]);
void lit_lb(struct lit_round *r, int me);
bool lit_both_one(uint64_t (*seen)[LIT_REGISTERS]);
void lit_two_writes(struct lit_round *r, int me);
void lit_fetch_both(struct lit_round *r);
bool lit_words_both_one(uint64_t (*seen)[LIT_REGISTERS]);
void lit_read_own(struct lit_round *r, int me);
void lit_wrc_fetch(struct lit_round *r, int me);
bool lit_wrc_broken(uint64_t (*seen)[LIT_REGISTERS]);
void lit_iriw(struct lit_round *r, int me);
bool lit_readers_disagree(uint64_t (*seen)[LIT_REGISTERS]);

/* stores.c: plain stores and barriers. */
void lit_store_then_flag(struct lit_round *r, int me);
void lit_store_sync(struct lit_round *r, int me);
void lit_store_alias(struct lit_round *r, int me);
void lit_barrier_local(struct lit_round *r, int me);
void lit_barrier_remote(struct lit_round *r, int me);
void lit_rc_team(struct lit_round *r, int me);

#endif
