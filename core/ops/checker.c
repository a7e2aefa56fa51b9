/* core/ops/checker.c: see checker.h. */
#include "core/ops/checker.h"

#include "core/base/note.h"

bool ist_check_on;
const struct ist_checker *ist_checker;
_Thread_local int ist_check_depth;

bool ist_check_is_on_program(void) { return ist_check_depth == 0 && ist_sync_now == NULL; }
