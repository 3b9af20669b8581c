//! Tables of vectors, several of them one below the other.

use burn::tensor::{Int, Tensor};

use crate::load::{LoadError, Reader};

/// One or more embedding tables of the same width in one tensor.
#[derive(Debug, Clone)]
pub struct Table {
    weight: Tensor<2>,
    /// Vectors of each table.
    each: usize,
}

impl Table {
    /// Reads `names`, each `[each, width]`.
    pub fn load(reader: &Reader, names: &[impl AsRef<str>], each: usize, width: usize) -> Result<Self, LoadError> {
        Ok(Self { weight: reader.rows(names, [names.len() * each, width])?, each })
    }

    /// Vectors of table `table` for `ids` `[n]`, each below the table's size: `[n, width]`.
    pub fn rows(&self, table: usize, ids: Tensor<1, Int>) -> Tensor<2> {
        let offset = (table * self.each) as i64;
        self.weight.clone().select(0, if offset == 0 { ids } else { ids.add_scalar(offset) })
    }

    /// The sum over the tables, the first `ids.dims()[1]` of them: `ids` `[n, tables]` to `[n, width]`.
    pub fn sums(&self, ids: Tensor<2, Int>) -> Tensor<2> {
        let [rows, tables] = ids.dims();
        let mut sum = self.column(&ids, rows, 0);
        for table in 1..tables {
            sum = sum + self.column(&ids, rows, table);
        }
        sum
    }

    fn column(&self, ids: &Tensor<2, Int>, rows: usize, table: usize) -> Tensor<2> {
        self.rows(table, ids.clone().narrow(1, table, 1).reshape([rows]))
    }
}
