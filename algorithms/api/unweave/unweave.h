// algorithms/api/unweave/unweave.h - all of the library: everything that the program does is done
// by what these headers declare.
//
//   resources.h    memory, threads, and who watches work and may cancel it
//   ingest.h       new stores
//   store.h        a reader or the writer of a store: facts, propagation, training
//   certify.h      weights that another program made: measured, then released or finished under a
//                  theorem
//   stream.h       requests, batch after batch
//   requests.h     what became of requests that have an id
//   rows.h         embeddings, edges, labels and scores, out of a store
//   classes.h      what users call the classes of a store
//   models.h       models of a store;  solvers.h: which solvers there are
//   links.h        what models of links say of pairs of nodes
//   evaluate.h     how good models are;  audit.h: attacks on their certificates
//   plan.h         what work is going to take
//   maintenance.h  verify, purge, repair
//   diagnosis.h    what would hinder work on this machine, and what a store waits for
//
// Names are in an inline namespace of the version of the binary interface: a program that was
// compiled for another one does not link. Errors are the types of storage/io/error.h: UsageError,
// DataError, ResourceError, CheckError; and Cancelled of engine/resources/work_meter.h. A message
// names options by their keys (storage/io/message.h).
#pragma once

#include "storage/io/error.h"
#include "storage/io/message.h"
#include "unweave/audit.h"
#include "unweave/certify.h"
#include "unweave/classes.h"
#include "unweave/diagnosis.h"
#include "unweave/evaluate.h"
#include "unweave/ingest.h"
#include "unweave/links.h"
#include "unweave/maintenance.h"
#include "unweave/models.h"
#include "unweave/plan.h"
#include "unweave/remarks.h"
#include "unweave/requests.h"
#include "unweave/resources.h"
#include "unweave/rows.h"
#include "unweave/solvers.h"
#include "unweave/store.h"
#include "unweave/stream.h"
#include "unweave/version.h"
