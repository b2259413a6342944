//! Tests of eras, result types, codes and cache hints; and of real traffic.
