//! Results of compounds of version 4: every operation that this client has.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_nfs::nfs4::*;
use plimsoll_nfs::xdr::Decoder;

fuzz_target!(|data: &[u8]| {
    // The first bytes say which operations were asked for.
    let Some((asked, body)) = data.split_at_checked(8) else { return };
    let Ok(mut results) = Decoder::new(body).value::<Results<'_>>() else { return };
    for operation in asked {
        let went_on = match operation % 24 {
            0 => results.take::<Sequence>().is_ok(),
            1 => results.take::<PutHandle>().is_ok(),
            2 => results.take::<GetHandle>().is_ok(),
            3 => results.take::<GetAttributes>().is_ok(),
            4 => results.take::<Lookup<'_>>().is_ok(),
            5 => results.take::<Open<'_>>().is_ok(),
            6 => results.take::<Close>().is_ok(),
            7 => results.take::<Read>().is_ok(),
            8 => results.take::<WriteHead>().is_ok(),
            9 => results.take::<Commit>().is_ok(),
            10 => results.take::<ReadDirectory>().is_ok(),
            11 => results.take::<CreateDirectory<'_>>().is_ok(),
            12 => results.take::<Remove<'_>>().is_ok(),
            13 => results.take::<Rename<'_>>().is_ok(),
            14 => results.take::<SetAttributesOf>().is_ok(),
            15 => results.take::<Access>().is_ok(),
            16 => results.take::<ExchangeId<'_>>().is_ok(),
            17 => results.take::<CreateSession>().is_ok(),
            18 => results.take::<SetClient<'_>>().is_ok(),
            19 => results.take::<Lock<'_>>().is_ok(),
            20 => results.take::<Unlock>().is_ok(),
            21 => results.take::<ConfirmOpen>().is_ok(),
            22 => results.take::<Allocate>().is_ok(),
            _ => match results.take::<ReadPlus>() {
                Ok(ok) => {
                    let mut bytes = Vec::new();
                    let _ = ok.append(0, 4096, &mut bytes);
                    assert!(bytes.len() <= 4096, "no more than was asked for");
                    true
                }
                Err(_) => false,
            },
        };
        if !went_on {
            return;
        }
    }
    let _ = results.finish();
});
