/* core/api/all_entries.h: the headers that declare the entry functions of the routines made from the table. */
#ifndef IST_API_ALL_ENTRIES_H
#define IST_API_ALL_ENTRIES_H

#include "core/api/amo_entry.h"
#include "core/api/coll_entry.h"
#include "core/api/memory_entry.h"
#include "core/api/order_entry.h"
#include "core/api/public.h"
#include "core/api/rma_entry.h"
#include "core/api/stream_entry.h"
#include "core/api/sync_entry.h"
#include "core/api/team_entry.h"
#include "core/sync/lock.h"

#endif
