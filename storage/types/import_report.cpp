// storage/types/import_report.cpp - collects remarks.
#include "storage/types/import_report.h"

#include <algorithm>

namespace unweave {

void ImportReport::remark(const std::string& sentence) {
  if (std::find(remarks.begin(), remarks.end(), sentence) == remarks.end()) remarks.push_back(sentence);
}

}  // namespace unweave
