// engine/resources/cost.h - the table of costs: what the predictions of updates, propagations and
// imports take for one arc, value, row or byte.
//
// All are seconds on one thread, for one of what the name ends with, in files that the page cache
// has. The rates of a machine's disk and memory are in MachineProfile. Each group says what its
// costs were fitted to; beside some stand times that were measured alone, for R-MAT and citation
// graphs of 2^20 nodes, 31 million arcs and 64 columns, with AVX-512, on 29 November 2026.
#pragma once

#include <cstdint>

namespace unweave::cost {

// Bytes, fitted to propagations of graphs of 2^18 to 2^22 nodes.
inline constexpr double kMappedByte = 4.4e-10;  ///< a byte of a file mapped and checked for the first time; measured
inline constexpr double kCopiedByte = 4e-10;    ///< a byte summed up and copied on its way to a file
inline constexpr double kAssembledByte = kMappedByte + kCopiedByte;  ///< a byte of a spool put in its place
inline constexpr double kNewByte = 6.25e-10;   ///< memory that was never touched, as it mostly is; fitted to batches
inline constexpr double kCompactByte = 5e-10;  ///< on all threads: room in pages of 2 MiB, made from pages of files
inline constexpr double kUnknownByte = 5e-9;   ///< a cautious guess for a disk whose rate nobody has measured
inline constexpr double kSyncedFile = 2e-5;    ///< a file that has nothing left to write, beside one that has

// Lists of neighbours, fitted to propagations, and to batches (tests/bench/planner.py) of graphs of
// 10^5 to 10^6 nodes with 16 to 128 columns.
inline constexpr double kDecodedArc = 5e-10;    ///< in a block; `unweave_bench decode` measured 3.8e-10 and 5.2e-10
inline constexpr double kLookedUpArc = 2.5e-9;  ///< looked up among some nodes, beside its decoding
inline constexpr double kScannedArc = kDecodedArc + kLookedUpArc;  ///< both, in lists side by side; measured as 1.8e-9
inline constexpr double kWeighedArc = 1.5e-9;  ///< added to the weight of its list, beside its decoding
inline constexpr double kSummedArc = 3.5e-9;  ///< a row of kTileColumns added in a sweep, beside decoding and kSumValue
inline constexpr double kFoundList = 2e-6;    ///< a list anywhere found, and its block decoded; 3e-7 to 2.5e-6
inline constexpr double kGatheredArc = 1e-8;  ///< in such a list: only to be ordered by receiver
inline constexpr double kSpooledArc = 1e-8;   ///< in such a list: put into a file and read again, in a slice of them
inline constexpr double kPushedArc = 3e-8;    ///< in such a list: ordered by receiver, its row added
inline constexpr double kMergedArc = 2.3e-7;  ///< an arc that changed, merged into its decoded list
inline constexpr std::uint32_t kTileColumns = 32;

// Values of features and sums, fitted as lists.
inline constexpr double kLevel0Value = 1e-9;  ///< read, scaled, rounded for a tile; measured as 5e-10 to 1e-9
inline constexpr double kNormValue = 1e-9;    ///< added to the norms of its column; measured as 9e-10 to 1.4e-9
inline constexpr double kSumValue = 1e-9;     ///< a sum rounded, checked, and put in its place

/// Rows of sums, each with so many seconds for a column; fitted to batches.
struct Rows {
  double row, column;
  [[nodiscard]] constexpr double of(double rows, double columns) const { return rows * (row + columns * column); }
};
inline constexpr Rows kChangedRow{2e-6, 4.8e-8};  ///< what a node has published captured, its sums mended
inline constexpr Rows kFileRow{3.6e-7, 6e-9};     ///< a row that lies in a file: rounded, and stored in memory
inline constexpr Rows kMemoryRow{2e-8, 2.2e-9};   ///< a row in memory changed

// Imports, fitted to those of graphs of 2^18 to 2^22 nodes.
inline constexpr double kTextByte = 1.6e-9;      ///< a byte of edges as text, read and parsed
inline constexpr double kNameByte = 4e-9;        ///< a byte of these in addition, where nodes have names
inline constexpr double kUnpackedByte = 3e-9;    ///< a byte of a file once it is decompressed
inline constexpr double kDistributedArc = 8e-9;  ///< put with those of near sources
inline constexpr double kEncodedArc = 2e-8;      ///< sorted and encoded
inline constexpr double kOrderedArc = 2e-8;      ///< looked at for an order
inline constexpr double kFeatureValue = 3.5e-9;  ///< read, measured, scaled, written

}  // namespace unweave::cost
